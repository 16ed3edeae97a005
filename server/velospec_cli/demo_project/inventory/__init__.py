"""A small stock list."""
