"""Models: the catalogue, installation, the store of what is installed, GGUF metadata and infill prompts."""
