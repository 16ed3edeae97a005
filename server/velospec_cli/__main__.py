"""`python -m velospec_cli` is `velospec`, for environments whose scripts are not on PATH."""

from velospec_cli.app import main

main()
