"""JSON Schema rewritten into the few keywords that the grammar engines enforce exactly.

`documents` reads schemas of all drafts, `rules` says what applies to one value, `normal_form` writes that
down anew, with `objects` and `names` for objects and `scalars`, `patterns` and `formats` for the rest;
`pruning` drops what no value can be.
"""
