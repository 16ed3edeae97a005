"""What the benchmark decodes: named prompts, and for each suite how much of them and how often.

The prompts of `code` and `editing` are data files beside this one; `humaneval` reads an installed package,
and `completion` the source text of libraries that VeloSpec needs anyway.
"""
