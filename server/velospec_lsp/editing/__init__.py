"""Edits by the chat model: from a command on a document to checked changes of its text.

Knows nothing of the protocol; `handlers` sends what comes out of here to the editor.
"""
