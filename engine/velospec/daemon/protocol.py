"""What goes over the daemon's socket: frames, each a 4-byte big-endian length and one msgpack map.

The map has the key `type`, which names the frame, and the frame's fields. The first frame of a client is
`Hello`, the first of the daemon `Welcome`; these two ignore fields they do not know, so that any two
versions can tell each other apart. All others are strict: what does not fit raises ProtocolError.
Knows nothing of sockets' whereabouts, models or engines.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, get_args

import msgpack

from velospec.core.errors import ProtocolError
from velospec.core.request import InfillRequest, Limits, TextRequest
from velospec.daemon import learning_frames as learning
from velospec.daemon.codec import from_plain, to_plain

PROTOCOL = 6
"""Grows with each change that an older peer would misread."""

ANY_BUILD = ""
"""The build of a client that only looks: newer than none, and not counted among the clients."""

MAX_FRAME = 32 << 20  # bytes; a document's text fits many times
MAX_HELLO = 4 << 10  # bytes; all that a peer may send before it has shown who it is
MAX_TOKENS = 32_768  # most new tokens of one request


@dataclass(frozen=True, slots=True)
class Hello:
    """First frame of a client. `token` is needed on a loopback port only."""

    protocol: int
    build: str
    client: str
    pid: int
    token: str = ""


@dataclass(frozen=True, slots=True)
class Infill:
    """Ask for a completion at a cursor; `stream` asks for Text frames too. `model` None: the default one."""

    id: int
    request: InfillRequest
    model: str | None = None
    stream: bool = False


@dataclass(frozen=True, slots=True)
class Generate:
    """Ask for the continuation of a text."""

    id: int
    request: TextRequest
    model: str | None = None
    stream: bool = False


@dataclass(frozen=True, slots=True)
class Load:
    """Ask for a model to be in memory; answered when it is."""

    id: int
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Unload:
    """Ask for a model to leave memory, unless it is in use."""

    id: int
    model: str


@dataclass(frozen=True, slots=True)
class Measure:
    """Ask for a model's profile to be measured anew; answered with the profile."""

    id: int
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """Ask for the state of the daemon."""

    id: int


@dataclass(frozen=True, slots=True)
class Stop:
    """Ask the daemon to leave."""

    id: int


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancel the request `id` of this connection; unknown and finished ones are no error."""

    id: int


class Verdict(StrEnum):
    """What the daemon makes of a client's Hello."""

    ACCEPTED = "accepted"
    RETIRING = "retiring"  # the client is newer and the daemon idle: it leaves, the client starts its own
    BUSY = "busy"  # the client is newer but the daemon is at work: the client runs its own beside it
    INCOMPATIBLE = "incompatible"  # the client is older and speaks another protocol: as BUSY
    DENIED = "denied"  # wrong token


@dataclass(frozen=True, slots=True)
class Welcome:
    """First frame of the daemon. `pid` is the process that holds the models."""

    protocol: int
    build: str
    pid: int
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Text:
    """The next piece of a streamed answer."""

    id: int
    text: str


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to a request."""

    id: int
    value: Any = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A request failed; `id` None: the frame was unreadable or out of turn."""

    code: str
    cause: str
    remedy: str = ""
    id: int | None = None


class EventKind(StrEnum):
    """What an Event tells."""

    LOADING = "loading"  # a model is being read; `fraction` 0 to 1
    MEASURING = "measuring"  # a model's profile is being measured; `fraction` 0 to 1
    READY = "ready"  # a model is in memory
    CRASHED = "crashed"  # the daemon died; told once until it works again (made by the client)
    RESTARTED = "restarted"  # the daemon is back (made by the client)
    MESSAGE = "message"  # anything else worth one line


@dataclass(frozen=True, slots=True)
class Event:
    """News for every client; belongs to no request."""

    kind: EventKind
    message: str = ""
    model: str = ""
    fraction: float | None = None


@dataclass(frozen=True, slots=True)
class Goodbye:
    """The daemon leaves on purpose; the end of the stream that follows is no crash."""

    reason: str


Request = Infill | Generate | Load | Unload | Measure | Status | Stop | learning.LearningRequest
Frame = Hello | Request | Cancel | Welcome | Text | Result | Failure | Event | Goodbye

_KINDS: dict[str, type[Frame]] = {
    kind.__name__.lower(): kind
    for kind in (
        *(Hello, Infill, Generate, Load, Unload, Measure, Status, Stop, Cancel),
        *(Welcome, Text, Result, Failure, Event, Goodbye),
        *get_args(learning.LearningRequest),
    )
}
_LENIENT = (Hello, Welcome)


def encode(frame: Frame) -> bytes:
    """The frame as bytes, length included. Lone surrogates become `?`. Raises ProtocolError if too large."""
    body = {"type": type(frame).__name__.lower(), **to_plain(frame)}
    packed: bytes = msgpack.packb(body, unicode_errors="replace")
    if len(packed) > MAX_FRAME:
        raise ProtocolError(f"A frame of {len(packed)} bytes is over the limit of {MAX_FRAME}.")
    return len(packed).to_bytes(4, "big") + packed


def decode(body: bytes) -> Frame:
    """The frame in `body`, length not included. Raises ProtocolError for everything that is none."""
    try:
        value = msgpack.unpackb(body)
    except (ValueError, TypeError, OverflowError, RecursionError, msgpack.UnpackException) as error:
        raise ProtocolError(f"A frame is not one msgpack map ({type(error).__name__}).") from None
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ProtocolError("A frame is not a msgpack map with text keys.")
    name = value.pop("type", None)
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise ProtocolError("A frame has no type that this version knows.")
    frame = from_plain(kind, value, lenient=kind in _LENIENT)
    if isinstance(frame, Infill | Generate):
        _check_limits(frame.request.limits)
    return frame


def frame_id(body: bytes) -> int | None:
    """The `id` in a body that `decode` refused, if it can be made out, so that the refusal can name it."""
    try:
        value = msgpack.unpackb(body)
    except (ValueError, TypeError, OverflowError, RecursionError, msgpack.UnpackException):
        return None
    found = value.get("id") if isinstance(value, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _check_limits(limits: Limits) -> None:
    if not 0 <= limits.max_tokens <= MAX_TOKENS:
        raise ProtocolError(f"Limits.max_tokens should be 0 to {MAX_TOKENS}, not {limits.max_tokens}.")
    if not all(limits.stop):
        raise ProtocolError("Limits.stop holds an empty text.")


async def read_body(reader: asyncio.StreamReader, limit: int = MAX_FRAME) -> bytes | None:
    """The next body, or None at the end of the stream, also in the middle of a frame.

    Raises ProtocolError for a body over `limit` bytes; the stream cannot be read on after that.
    """
    try:
        length = int.from_bytes(await reader.readexactly(4), "big")
        if length > limit:
            raise ProtocolError(f"A frame of {length} bytes is over the limit of {limit}.")
        return await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
