"""The structure of a text that grows token by token, shared by `motif` and `ast_shadow`.

`lexicon` and `patterns` say what a language's lexemes are, `lexing` follows a text with them, `layout` keeps
indentation apart from the place. `outline` tells brackets, statement and blocks, `duties` what they oblige
to, `places` puts these together and has the like for markup. `encoding` writes a text in the ids that a model
would use where it stands.
"""
