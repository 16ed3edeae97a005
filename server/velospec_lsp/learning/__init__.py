"""What of the workspace the daemon is taught, so that it drafts from it (docs/learning.md)."""
