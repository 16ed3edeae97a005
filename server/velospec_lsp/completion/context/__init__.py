"""What the model is shown of other files: pieces that are like the text at the cursor (docs/context.md)."""
