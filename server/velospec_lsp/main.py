"""The command `velospec-lsp`. Imports next to nothing until it is clear that a server is to run."""

from __future__ import annotations

import argparse
import sys

from velospec import __version__

_ABOUT = "Inline code completion from a model on this machine, as a language server."

_HINT = f"""velospec-lsp {__version__}: {_ABOUT}

An editor starts it; there is nothing to type here. Tell your editor to run

    velospec-lsp --stdio

Neovim 0.12, for example:

    vim.lsp.config('velospec', {{ cmd = {{ 'velospec-lsp', '--stdio' }} }})
    vim.lsp.enable('velospec')
    vim.lsp.inline_completion.enable()

Models are installed with `velospec model install`; `velospec status` tells what runs.
`velospec-lsp --help` lists the options.
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="velospec-lsp", description=_ABOUT, epilog="Without an option, and not in a terminal: --stdio."
    )
    parser.add_argument("--version", action="version", version=f"velospec-lsp {__version__}")
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--stdio", action="store_true", help="serve on stdin and stdout, as editors want it")
    way.add_argument(
        "--tcp",
        type=int,
        metavar="PORT",
        help="serve one client on this loopback port (0: any), for debugging",
    )
    parser.add_argument(
        "--log-level",
        choices=["debug", "info", "warning", "error"],
        default="warning",
        help="how much to log, to stderr and to the log file (default: warning)",
    )
    # Editors add their own process id to the command line of every server.
    parser.add_argument("--clientProcessId", type=int, metavar="PID", help=argparse.SUPPRESS)
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    options = _parser().parse_args(arguments)
    if not options.stdio and options.tcp is None and sys.stdin.isatty():
        sys.stdout.write(_HINT)
        return 0
    from velospec_lsp.run import run  # noqa: PLC0415  # the server's libraries take half a second to load

    return run(tcp_port=options.tcp, log_level=options.log_level)


if __name__ == "__main__":
    sys.exit(main())
