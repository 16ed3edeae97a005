"""The wire: frames, their limits, what becomes of bytes that are none; builds and options."""

from __future__ import annotations

import asyncio
import math

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from velospec.core.errors import ProtocolError, SettingsError
from velospec.core.grammar import Grammar, GrammarKind, Tag, Tags, Whitespace
from velospec.core.learning import Feedback, Lesson, Reception, TextChange
from velospec.core.request import Completion, FinishReason, InfillRequest, Limits, Sampling, TextRequest
from velospec.core.statistics import ProposerCount, Statistics
from velospec.daemon import learning_frames as f
from velospec.daemon import protocol as p
from velospec.daemon.build import current_build, newer
from velospec.daemon.codec import from_plain, to_plain
from velospec.daemon.options import DaemonOptions, from_environment, parse

LIMITS = Limits(64, ("\n\n", "def "), 3, indent_scope=True, budget_ms=250.0)
SAMPLING = Sampling(0.8, 40, 0.95, 0.05, 1.1, penalty_window=32, seed=2**64 - 1)
INFILL = InfillRequest("file:///a.py", "def f():\n", "\n", "a.py", LIMITS, speculate=False)
TAGS = Tags((Tag("<call>f(", '{"type": "object"}', ")</call>"),), "<call>", at_least_one=True, separator="\n")
GRAMMARS = [
    Grammar(GrammarKind.JSON_SCHEMA, '{"enum": ["é"]}', Whitespace.FLEXIBLE, after="{\n"),
    Grammar(GrammarKind.TAGS, tags=TAGS),
]
FRAMES = [
    p.Hello(1, "0.1.0+5", "velospec-lsp", 12, "secret"),
    p.Welcome(1, "0.1.0+5", 13, p.Verdict.BUSY),
    p.Infill(1, INFILL, "small", stream=True),
    p.Generate(2, TextRequest("chat", "Hi", special=True, sampling=SAMPLING)),
    *(p.Generate(2, TextRequest("chat", "Hi", grammar=grammar)) for grammar in GRAMMARS),
    p.Load(3, "small"),
    p.Unload(4, "small"),
    p.Measure(5),
    p.Status(6),
    p.Stop(7),
    p.Cancel(8),
    p.Text(9, "naïve 😀"),
    p.Result(10, {"a": [1, 2.5, None]}),
    p.Failure("cancelled", "The request was cancelled.", "", 11),
    p.Failure("protocol", "What?"),
    p.Event(p.EventKind.LOADING, "Loading small", "small", 0.5),
    p.Goodbye("idle"),
    f.Learn(12, Lesson("/w", "file:///w/a.py", 3, "x = 1\n", path="a.py", relevance=9)),
    f.Learn(13, Lesson("/w", "file:///w/a.py", 4, base=3, changes=(TextChange(4, 5, "2"),))),
    f.Rename(14, "/w", "file:///w/a.py", "file:///w/b.py", "b.py"),
    f.Forget(15, "/w"),
    f.Known(16, "/w"),
    f.Knowledge(17),
    f.Export(18, "/w"),
    f.Judge(19, Feedback("/w", Reception.PARTLY, 10, 4)),
]


def body_of(frame: p.Frame) -> bytes:
    return p.encode(frame)[4:]


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: type(frame).__name__)
def test_each_frame_comes_back_as_it_was(frame: p.Frame) -> None:
    packed = p.encode(frame)
    assert int.from_bytes(packed[:4], "big") == len(packed) - 4
    assert p.decode(packed[4:]) == frame


def test_every_kind_of_frame_is_covered() -> None:
    assert {type(frame) for frame in FRAMES} == set(p._KINDS.values())


def test_completion_comes_back_as_it_was() -> None:
    counts = Statistics(
        prompt_tokens=3,
        decode_seconds=0.5,
        accepted_at=(1, 2),
        drafted_at=(2, 2),
        proposers={"suffix": ProposerCount(1, 2, 1)},
    )
    completion = Completion("x = 1", (5, 6), FinishReason.SCOPE, counts)
    assert from_plain(Completion, msgpack.unpackb(msgpack.packb(to_plain(completion)))) == completion


@given(st.binary(max_size=400))
def test_any_bytes_decode_or_raise_protocol_error(body: bytes) -> None:
    p.frame_id(body)
    try:
        p.decode(body)
    except ProtocolError as error:
        assert error.cause  # noqa: PT017 - not raising is as good


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)


@given(st.sampled_from(FRAMES), st.data())
def test_any_value_in_any_field_decodes_or_raises_protocol_error(frame: p.Frame, data: st.DataObject) -> None:
    value = msgpack.unpackb(body_of(frame))
    target = value
    if isinstance(value.get("request"), dict) and data.draw(st.booleans()):
        target = value["request"]
        if data.draw(st.booleans()):
            target = target[data.draw(st.sampled_from(["limits", "sampling"]))]
    target[data.draw(st.sampled_from(sorted(target)))] = data.draw(JSON)
    body = msgpack.packb(value)
    try:
        p.decode(body)
    except ProtocolError as error:
        assert error.cause  # noqa: PT017 - not raising is as good


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"id": "1"}, "Infill.id should be int, not str."),
        ({"id": True}, "Infill.id should be a whole number, not bool."),
        ({"more": 1}, "Infill has a field that this version does not know."),
        ({"request": None}, "Infill.request should be a map, not NoneType."),
        ({"type": "dance"}, "A frame has no type that this version knows."),
        ({"type": ["infill"]}, "A frame has no type that this version knows."),
        (
            {"request": {**to_plain(INFILL), "prefix": b"x"}},
            "Infill.request.prefix should be str, not bytes.",
        ),
    ],
)
def test_refusals_name_the_field_and_never_the_value(change: dict[str, object], told: str) -> None:
    value = {**msgpack.unpackb(body_of(p.Infill(1, INFILL))), **change}
    with pytest.raises(ProtocolError) as caught:
        p.decode(msgpack.packb(value))
    assert caught.value.cause == told


def test_a_missing_field_is_named() -> None:
    with pytest.raises(ProtocolError, match=r"Cancel lacks the field 'id'\."):
        p.decode(msgpack.packb({"type": "cancel"}))


@pytest.mark.parametrize(
    "limits",
    [
        {"max_tokens": -1},
        {"max_tokens": p.MAX_TOKENS + 1},
        {"max_lines": 0},
        {"budget_ms": -1.0},
        {"budget_ms": math.nan},
        {"budget_ms": math.inf},
        {"stop": [""]},
    ],
)
def test_limits_out_of_range_are_refused(limits: dict[str, object]) -> None:
    value = msgpack.unpackb(body_of(p.Infill(1, INFILL)))
    value["request"]["limits"] |= limits
    with pytest.raises(ProtocolError, match=next(iter(limits))):
        p.decode(msgpack.packb(value))


def test_sampling_out_of_range_is_refused_with_what_to_do() -> None:
    value = msgpack.unpackb(body_of(FRAMES[3]))
    value["request"]["sampling"]["top_p"] = 0.0
    with pytest.raises(ProtocolError) as caught:
        p.decode(msgpack.packb(value))
    assert caught.value.cause == "Sampling.top_p should be a number from 0.001 to 1, not 0.0."
    assert caught.value.remedy == "Use 1 to allow all tokens."


def test_hello_and_welcome_of_a_later_version_are_understood() -> None:
    hello = {**msgpack.unpackb(body_of(FRAMES[0])), "protocol": 9, "colour": "blue"}
    decoded = p.decode(msgpack.packb(hello))
    assert isinstance(decoded, p.Hello)
    assert decoded.protocol == 9


def test_lone_surrogates_travel_as_question_marks() -> None:
    decoded = p.decode(body_of(p.Infill(1, InfillRequest("d", "a\ud800b", ""))))
    assert isinstance(decoded, p.Infill)
    assert decoded.request.prefix == "a?b"


def test_frames_over_the_limit_are_neither_sent_nor_read() -> None:
    with pytest.raises(ProtocolError, match="over the limit"):
        p.encode(p.Text(1, "x" * p.MAX_FRAME))

    async def read(data: bytes, limit: int) -> bytes | None:
        reader = asyncio.StreamReader()
        reader.feed_data(data)
        reader.feed_eof()
        return await p.read_body(reader, limit)

    with pytest.raises(ProtocolError, match="A frame of 11 bytes is over the limit of 10"):
        asyncio.run(read(b"\0\0\0\x0b" + b"x" * 11, 10))
    assert asyncio.run(read(b"\0\0\0\x0a" + b"x" * 10, 10)) == b"x" * 10
    assert asyncio.run(read(b"\0\0\0\x0a" + b"x" * 9, 10)) is None
    assert asyncio.run(read(b"\0\0", 10)) is None


@pytest.mark.parametrize(
    ("one", "other", "answer"),
    [
        ("0.2.0+1", "0.1.0+9", True),
        ("0.10.0+1", "0.9.0+1", True),
        ("0.1.0+2", "0.1.0+1", True),
        ("0.1.0+1", "0.1.0+1", False),
        ("", "0.1.0+1", False),
        ("0.1.0+1", "nonsense", True),
        ("nonsense", "", False),
        ("²", "", False),
    ],
)
def test_which_build_is_newer(one: str, other: str, answer: bool) -> None:
    assert newer(one, other) is answer
    assert not (newer(one, other) and newer(other, one))


def test_current_build_is_newer_than_none() -> None:
    assert newer(current_build(), p.ANY_BUILD)


def test_options_travel_as_arguments() -> None:
    options = DaemonOptions("beside", "1.2.3+4", "tcp", 1.5, 2.5, 1 << 30, -1.0, 4096)
    assert parse(options.arguments()) == options


def test_options_come_from_the_environment_unless_given() -> None:
    environment = {
        "VELOSPEC_DAEMON_IDLE": "3",
        "VELOSPEC_MEMORY_BUDGET": "1000",
        "VELOSPEC_DAEMON_HANG": "",
        "VELOSPEC_CONTEXT": "4096",
    }
    options = from_environment(environment, build="b", memory_budget=5)
    assert options == DaemonOptions(build="b", idle_seconds=3.0, memory_budget=5, context=4096)


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({"VELOSPEC_DAEMON_IDLE": "soon"}, "VELOSPEC_DAEMON_IDLE is 'soon', which is no float."),
        ({"VELOSPEC_DAEMON_TRANSPORT": "pigeon"}, "VELOSPEC_DAEMON_TRANSPORT is 'pigeon'."),
        ({"VELOSPEC_MEMORY_BUDGET": "-5"}, "A time or a size of the daemon's options is negative."),
        ({"VELOSPEC_CONTEXT": "16"}, "VELOSPEC_CONTEXT is 16; the least is 512."),
    ],
)
def test_bad_options_are_named(environment: dict[str, str], told: str) -> None:
    with pytest.raises(SettingsError) as caught:
        from_environment(environment)
    assert caught.value.cause == told
