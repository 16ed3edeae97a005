"""A daemon process with scripted engines: the real supervisor, host and server, no model.

Run as a program; it takes the options of `python -m velospec.daemon`.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.scripted_engine import Script, ScriptedModels, scripted_model
from velospec.daemon.host import host_models
from velospec.daemon.options import parse
from velospec.daemon.supervisor import supervise

COMMAND = (sys.executable, str(Path(__file__).resolve()))


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--host"]:
        models = ScriptedModels(
            scripted_model("small"),
            scripted_model("talker", roles=("chat",)),
            scripted_model("crasher"),
        )
        host_models(parse(arguments[1:]), models, Script().open)
    return supervise(parse(arguments), (*COMMAND, "--host"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
