"""What is learned of a user's workspaces while they work: texts, what an engine reads in them, the store."""
