"""Sources of drafts, one per file; `base` is their protocol."""
