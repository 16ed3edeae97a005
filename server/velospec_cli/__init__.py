"""The command line `velospec`, one file per command."""
