"""Completion in JSON files: what the schema allows at the cursor, and what fits the text behind it."""
