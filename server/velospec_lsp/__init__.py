"""The language server: what an editor starts as `velospec-lsp --stdio`.

Holds the open documents, decides what may be asked of the model, and shows what came back. The model itself
lives in the daemon; nothing here loads it.
"""
