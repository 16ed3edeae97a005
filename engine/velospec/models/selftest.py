"""Does a model that was made here answer as it should? Compares its first choices with known ones.

Run as a process of its own (`python -m velospec.models.selftest`), so that a native crash ends the check
and not the installation. The file's checksum cannot serve: floating-point sums differ in their last bits
between machines.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

from velospec.core.errors import InstallError, NativeCrashError, VeloSpecError
from velospec.models.catalogue import Check

_SECONDS = 180
_REBUILD = (
    'CMAKE_ARGS="-DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF" pip install --force-reinstall --no-cache-dir '
    "--no-binary llama-cpp-python llama-cpp-python"
)


def run_selftest(path: Path, checks: tuple[Check, ...]) -> None:
    """Check the model file in a process of its own. Raises InstallError, or NativeCrashError if it dies."""
    command = [sys.executable, "-m", "velospec.models.selftest", str(path)]
    cases = json.dumps([[check.prefix, check.suffix] for check in checks])
    try:
        done = subprocess.run(
            command, input=cases, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise InstallError(
            f"The self-test of {path.name} did not end within {_SECONDS} s.",
            "Try again when the machine is idle.",
        ) from error
    if done.returncode < 0:
        raise NativeCrashError(
            f"llama.cpp crashed in the self-test of {path.name} ({signal.Signals(-done.returncode).name}): "
            "its native build was probably made for another processor.",
            f"Rebuild it: {_REBUILD}",
        )
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise InstallError(
            f"The self-test of {path.name} failed: {reason}", f"Reinstall llama.cpp: {_REBUILD}"
        )
    for check, answer in zip(checks, json.loads(done.stdout), strict=True):
        if answer != check.answer:
            raise InstallError(
                f"{path.name} was made wrongly: it answers {answer!r} and not {check.answer!r}.",
                "Try again; if it stays so, report it with the output of: velospec --version",
            )


def first_choices(path: Path, cases: list[tuple[str, str]]) -> list[str]:
    """The text of the model's first choice at each cursor, between its `prefix` and `suffix`."""
    from velospec.backends.llama_cpp import LlamaBackend, LlamaOptions  # noqa: PLC0415 - native library
    from velospec.models.gguf import read_head  # noqa: PLC0415 - with the backend
    from velospec.models.infill import InfillFormat  # noqa: PLC0415 - with the backend

    backend = LlamaBackend(path, LlamaOptions(context=256, slots=1))
    try:
        form = InfillFormat.for_model(read_head(path).scalars, backend.vocabulary)
        answers = []
        for prefix, suffix in cases:
            # Nothing is healed here: the cases end where a token does.
            prompt = form.build(prefix, suffix, "", backend.context)
            ids = [*prompt.ids, *form.plain.encode(prompt.heal.decode())]
            backend.truncate(0, 0)
            backend.prefill(0, ids[:-1], 0)
            logits = backend.decode(0, ids[-1:], len(ids) - 1)
            answers.append(form.plain.decode([int(logits[0].argmax())]).decode("utf-8", "replace"))
        return answers
    finally:
        backend.close()


def main() -> None:
    """Read cases as JSON from stdin, write the answers to stdout."""
    try:
        answers = first_choices(Path(sys.argv[1]), [(case[0], case[1]) for case in json.load(sys.stdin)])
    except VeloSpecError as error:
        sys.exit(str(error))
    sys.stdout.write(json.dumps(answers))


if __name__ == "__main__":
    main()
