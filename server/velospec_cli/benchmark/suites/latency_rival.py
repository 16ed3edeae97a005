"""The rival of the suite `latency`: what llama.vim does, over llama-cpp-python's server, on the same model.

Like llama.vim it sends 256 lines before the cursor and 64 behind it with each key, and wants up to 128 tokens
without drafts. The answer ends where the model ends, where a new line is indented less than the cursor's, or
after 250 ms of writing, if it has a line end by then. That server knows no infill of its own: the prompt is
put together here, in the model's own format.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from velospec.core.errors import VeloSpecError
from velospec.models.gguf import read_head
from velospec.models.infill import HEADER, TEMPLATE
from velospec.models.store import InstalledModel

LINES_BEFORE, LINES_BEHIND = 256, 64
TOKENS = 128
_WRITING_SECONDS = 0.25  # after which the next line end ends the answer
_CONTEXT = 8192  # tokens
_START_SECONDS = 120.0
_LIBRARIES = ("uvicorn", "fastapi", "sse_starlette", "starlette_context", "pydantic_settings")


@dataclass(frozen=True, slots=True)
class RivalAnswer:
    """Seconds from sending the request to the whole answer, and to the end of its first line."""

    text: str
    seconds: float
    line_seconds: float
    tokens: int  # written, as far as the server sends each by itself


class Rival:
    """llama-cpp-python's server in a process of its own. Use it as an asynchronous context manager."""

    def __init__(self, model: InstalledModel, threads: int) -> None:
        """Raises VeloSpecError where the server is not installed, or the model's prompt format unknown."""
        missing = [library for library in _LIBRARIES if not find_spec(library)]
        if missing:
            cause = f"The rival, llama-cpp-python's server, needs {', '.join(missing)}."
            raise VeloSpecError(cause, "Install them: pip install 'velospec[benchmark]'")
        scalars = read_head(model.path).scalars
        if TEMPLATE not in scalars:
            cause = f"The prompt format of {model.name} is not declared in its file."
            raise VeloSpecError(cause, "Measure smollm2-135m-fim.")
        self._template, self._header = str(scalars[TEMPLATE]), str(scalars.get(HEADER, ""))
        self._model, self._threads, self._port = model.path, threads, _free_port()
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Self:
        options: dict[str, object] = {"model": self._model, "host": "127.0.0.1", "port": self._port}
        threads = {"n_threads": self._threads, "n_threads_batch": self._threads}
        options |= {"n_ctx": _CONTEXT, "verbose": False, **threads}
        arguments = [part for name, value in options.items() for part in (f"--{name}", str(value))]
        quiet = asyncio.subprocess.DEVNULL
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "llama_cpp.server", *arguments, stdout=quiet, stderr=quiet
        )
        until = time.monotonic() + _START_SECONDS
        while not await asyncio.to_thread(self._answers):
            if self._process.returncode is not None or time.monotonic() > until:
                await self.__aexit__()
                raise VeloSpecError("llama-cpp-python's server did not start.", "Run it by hand to see why.")
            await asyncio.sleep(0.2)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    async def ask(self, name: str, text: str, index: int) -> RivalAnswer:
        """Complete `text` of the file `name` at `index`."""
        before, behind = window(text, index)
        header = self._header.replace("{name}", Path(name).name)
        prompt = fill(self._template, header=header, prefix=before, suffix=behind)
        return await asyncio.to_thread(self._ask, prompt, before.rpartition("\n")[2])

    def _answers(self) -> bool:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=5)
            connection.request("GET", "/v1/models")
            return connection.getresponse().status == http.HTTPStatus.OK
        except OSError:
            return False

    def _ask(self, prompt: str, line: str) -> RivalAnswer:
        body = json.dumps({"prompt": prompt, "max_tokens": TOKENS, "temperature": 0.0, "stream": True})
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=600)
        started = time.perf_counter()
        connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
        answer = read_answer(_pieces(connection.getresponse()), line, started)
        connection.close()
        self._answers()  # another request makes the server stop writing, and is answered when it has stopped
        return answer


def read_answer(pieces: Iterator[str], line: str, started: float) -> RivalAnswer:
    """Take pieces of text until llama.vim's server would stop; `line` is the cursor's, up to the cursor."""
    indent = len(line) - len(line.lstrip())
    text, first, line_seconds, tokens = "", None, None, 0
    for piece in pieces:
        now = time.perf_counter()
        tokens += bool(piece)
        first = first or now
        text += piece
        if "\n" not in text:
            continue
        line_seconds = line_seconds or now - started
        if now - first > _WRITING_SECONDS or _leaves(text, indent):
            break
    seconds = time.perf_counter() - started
    return RivalAnswer(text, seconds, line_seconds or seconds, tokens)


def window(text: str, index: int) -> tuple[str, str]:
    """The lines around `index` that are sent."""
    before = text[:index].split("\n")[-LINES_BEFORE - 1 :]
    behind = text[index:].split("\n")[: LINES_BEHIND + 1]
    return "\n".join(before), "\n".join(behind)


def fill(template: str, **parts: str) -> str:
    """`template` with the named parts in place, whatever braces those contain."""
    pieces = template.replace("{", "\0{").replace("}", "}\0").split("\0")
    return "".join(parts.get(piece[1:-1], "") if piece.startswith("{") else piece for piece in pieces)


def _leaves(text: str, indent: int) -> bool:
    last = text.rpartition("\n")[2]
    return bool(last.strip()) and len(last) - len(last.lstrip()) < indent


def _pieces(response: http.client.HTTPResponse) -> Iterator[str]:
    for line in response:
        if line.startswith(b"data: {"):
            event: dict[str, Any] = json.loads(line[6:])
            yield event["choices"][0]["text"]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
