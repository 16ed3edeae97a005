"""Reads answers: text and calls of tools told apart, as a whole or while the answer comes.

An answer is read by the literal texts of the model's style, which the grammar holds it to. What begins like
a call and turns out to be none is text. Knows no tools and no schemas.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from velospec.core.tools import ToolCall, ToolStyle, new_call_id
from velospec.models.json_end import JsonEnd


@dataclass(frozen=True, slots=True)
class Delta:
    """One piece of an answer as it comes, in the sense of OpenAI's streams.

    Either `content`, or a part of call number `index`: first its `id` and `name`, then pieces of `arguments`.
    """

    content: str = ""
    index: int | None = None
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class _Call:
    id: str
    name: str
    arguments: list[str] = field(default_factory=list)
    complete: bool = False


class CallStream:
    """Reads one answer. `feed` it the text as it comes, `finish` it, then take `content` and `calls`.

    White space between text and calls belongs to neither, so that text that ends in it is held back until
    more comes, as is what may become the trigger of a call.
    """

    def __init__(self, style: ToolStyle | None) -> None:
        """`style` None where no call is possible: all is text."""
        self._style = style
        self._text = ""  # not told yet
        self._stage: Callable[[list[Delta]], bool] = self._read_content
        self._content: list[str] = []
        self._calls: list[_Call] = []
        self._arguments = JsonEnd()
        self._strip = False  # a call was read just before

    @property
    def content(self) -> str:
        """The text so far."""
        return "".join(self._content)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls so far; the last may be incomplete."""
        return tuple(
            ToolCall(call.name, "".join(call.arguments), call.id, call.complete) for call in self._calls
        )

    def feed(self, text: str) -> list[Delta]:
        """What `text` adds to the answer."""
        self._text += text
        deltas: list[Delta] = []
        while self._stage(deltas):
            pass
        return deltas

    def finish(self, *, cut: bool = False) -> list[Delta]:
        """What is left where the answer ends: text that was held back.

        Where the answer was `cut` short, what may have become a call is left out.
        """
        held, self._text = self._text, ""
        if self._stage == self._read_end and self._style is not None:
            last = self._style.end + self._style.closing
            held = held.removeprefix(last) if held.startswith(last) else ""
            self._strip = True
        elif self._stage != self._read_content:
            return []
        if cut and self._style is not None and held.strip():
            held = ""
        return self._tell(held)

    # The stages: each reads on, and says whether the next may find something.

    def _read_content(self, deltas: list[Delta]) -> bool:
        style = self._style
        if style is None:
            self._take(len(self._text), deltas)
            return False
        head = style.opening + style.begin
        place = self._text.find(style.trigger)
        if place >= 0 and head.startswith(self._text[place : place + len(head)]):
            before = self._text[:place].rstrip()
            self._take(len(before), deltas)
            if not self._text.endswith(head) and len(self._text.lstrip()) < len(head):
                return False
            self._text = self._text.lstrip()[len(head) :]
            self._stage = self._read_name
            return True
        if place >= 0:  # the trigger, but no call
            self._take(place + len(style.trigger), deltas)
            return True
        self._take(len(self._text) - _held(self._text, style.trigger), deltas)
        return False

    def _read_name(self, deltas: list[Delta]) -> bool:
        assert self._style is not None  # noqa: S101 - only reached by a style's trigger
        name, found, rest = self._text.partition(self._style.middle)
        if not found:
            return False
        self._text = rest
        call = _Call(new_call_id(), name)
        self._calls.append(call)
        self._arguments = JsonEnd()
        self._stage = self._read_arguments
        deltas.append(Delta(index=len(self._calls) - 1, id=call.id, name=name))
        return True

    def _read_arguments(self, deltas: list[Delta]) -> bool:
        length = self._arguments.feed(self._text)
        piece, self._text = self._text[:length], self._text[length:]
        if piece:
            self._calls[-1].arguments.append(piece)
            deltas.append(Delta(index=len(self._calls) - 1, arguments=piece))
        if not self._arguments.ended:
            return False
        self._calls[-1].complete = True
        self._stage = self._read_end
        return True

    def _read_end(self, _deltas: list[Delta]) -> bool:
        """After the arguments: the call's end, then another call, or the block's end."""
        style = self._style
        assert style is not None  # noqa: S101 - as above
        another = style.end + style.separator + style.begin
        last = style.end + style.closing
        if style.several and self._text.startswith(another):
            self._text = self._text[len(another) :]
            self._stage = self._read_name
            return True
        if style.several and another.startswith(self._text):
            return False
        if not self._text.startswith(last) and last.startswith(self._text):
            return False
        self._text = self._text.removeprefix(last)
        self._stage = self._read_content
        self._strip = True
        return True

    def _take(self, length: int, deltas: list[Delta]) -> None:
        """Tell that many of the characters that wait."""
        deltas += self._tell(self._text[:length])
        self._text = self._text[length:]

    def _tell(self, text: str) -> list[Delta]:
        if self._strip:
            text = text.lstrip()
        if not text:
            return []
        self._strip = False
        self._content.append(text)
        return [Delta(content=text)]


def read_answer(text: str, style: ToolStyle | None) -> tuple[str, tuple[ToolCall, ...]]:
    """The text of a whole answer without its calls, and the calls."""
    stream = CallStream(style)
    stream.feed(text)
    stream.finish()
    return stream.content, stream.calls


def _held(text: str, trigger: str) -> int:
    """How much of the end of `text` may be white space before a call, and the beginning of its trigger."""
    longest = next(
        (length for length in range(min(len(trigger), len(text)), 0, -1) if text.endswith(trigger[:length])),
        0,
    )
    rest = text[: len(text) - longest]
    return longest + len(rest) - len(rest.rstrip())
