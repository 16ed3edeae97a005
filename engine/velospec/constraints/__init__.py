"""What restricts the ids that may come next, one kind per file; `base` is their protocol."""
