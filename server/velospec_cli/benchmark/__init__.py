"""`velospec benchmark`: how fast drafts make a model on this machine, and whether its output stays the same.

`command` is what the shell calls, `suites` what there is to decode, `methods` who decodes it, `session` in
what order; `results` makes figures of the runs, `report`, `trace` and the JSON file show them. `ablation`
asks what each part of drafting brings.
"""
