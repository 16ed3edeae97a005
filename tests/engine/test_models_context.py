"""Pieces of other files in prompts: each family's own way, the room they get, and what is read anew."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.vocabularies import vocabulary
from velospec.backends.llama_cpp import open_vocabulary
from velospec.backends.scripted import ScriptedBackend, ScriptedVocabulary, hash_rule
from velospec.core.errors import ProtocolError, SettingsError
from velospec.core.ids import common_length
from velospec.core.request import Chunk, InfillRequest
from velospec.daemon.codec import from_plain, to_plain
from velospec.decode.slots import Slots
from velospec.models.infill import InfillFormat
from velospec.models.repository import AS_COMMENTS, Repository, as_comment, repository_of
from velospec.models.store import InstalledModel
from velospec.tasks import window

A = Chunk("lib/a.py", "def a():\n    pass\n")
B = Chunk("lib/b.py", "def b():\n    pass\n")


def format_of(name: str, override: str | None = None) -> InfillFormat:
    known = vocabulary(name)
    return InfillFormat.for_model(known.metadata, known, override)


def spelled(text: str) -> list[int]:
    """An encoder whose ids are letters."""
    return [ord(letter) for letter in text]


def spell(ids: Sequence[int]) -> str:
    return "".join(chr(id_) if id_ < 1000 else f"<{id_}>" for id_ in ids)


SENTINELS = {
    "qwen": {"<|repo_name|>": 1001, "<|file_sep|>": 1002},
    "starcoder": {"<repo_name>": 1003, "<file_sep>": 1004, "<filename>": 1005, "<reponame>": 1006},
    "granite": {"<filename>": 1005, "<reponame>": 1006},
    "codestral": {},
}


@pytest.mark.parametrize(
    ("family", "sentinels", "front", "above"),
    [
        (
            "qwen",
            "qwen",
            "<1001>project\n<1002>{a}<1002>{b}<1002>m.py\n",
            "",
        ),
        (
            "starcoder",
            "starcoder",
            "<1003>project<1004>{a}<1004>{b}<1004>",
            "m.py\n",
        ),
        (
            "starcoder",
            "granite",
            "<1006>project<1005>{a}<1005>{b}<1005>m.py\n",
            "",
        ),
        (
            "codestral",
            "codestral",
            "",
            "+++++ {a}+++++ {b}+++++ m.py\n",
        ),
        (
            "codellama",
            "codestral",
            "",
            "# lib/a.py\n# def a():\n#     pass\n# lib/b.py\n# def b():\n#     pass\n",
        ),
        ("qwen", "codestral", "", "# lib/a.py\n# def a():\n#     pass\n# lib/b.py\n# def b():\n#     pass\n"),
    ],
)
def test_each_family_has_its_own_way(family: str, sentinels: str, front: str, above: str) -> None:
    placed = repository_of(family, SENTINELS[sentinels].get).place((A, B), "m.py", 500, spelled)
    shown = {"a": f"{A.path}\n{A.text}", "b": f"{B.path}\n{B.text}"}
    assert (spell(placed.front), spell(placed.above)) == (front.format(**shown), above.format(**shown))


@pytest.mark.parametrize(
    ("path", "block"),
    [
        ("m.ts", "// a.x\n// one\n//\n//   two\n"),
        ("m.SQL", "-- a.x\n-- one\n--\n--   two\n"),
        ("Makefile", "# a.x\n# one\n#\n#   two\n"),
        ("", "# a.x\n# one\n#\n#   two\n"),
    ],
)
def test_comments_are_those_of_the_language(path: str, block: str) -> None:
    assert as_comment(Chunk("a.x", "one\n\n  two\n\n"), path) == block


def test_a_chunk_without_a_path_has_no_line_for_it() -> None:
    assert as_comment(Chunk("", "one"), "m.py") == "# one\n"


def test_the_first_ones_that_fit_are_placed_and_none_in_part() -> None:
    block = len(as_comment(A, "m.py"))
    for room, chunks in ((2 * block, "ab"), (2 * block - 1, "a"), (block, "a"), (block - 1, "")):
        above = spell(AS_COMMENTS.place((A, B), "m.py", room, spelled).above)
        assert above == "".join(as_comment({"a": A, "b": B}[name], "m.py") for name in chunks)


def test_without_chunks_nothing_introduces_the_file() -> None:
    placed = repository_of("qwen", SENTINELS["qwen"].get).place((), "m.py", 500, spelled)
    assert not placed.front
    assert not placed.above


def test_a_text_with_names_and_sentinels_in_it_is_only_text() -> None:
    chunk = Chunk("{text}.py", "{path} {name} {nothing} <fim_prefix> <|file_sep|>")
    form = format_of("starcoder")
    prompt = form.build("x = ", "", "m.py", 400, context=(chunk,))
    assert prompt.ids.count(1) == 1
    assert b"{path} {name} {nothing} <fim_prefix> <|file_sep|>" in form.plain.decode(prompt.ids)


def test_starcoders_chunks_stand_in_front_of_the_suffix() -> None:
    form, known = format_of("starcoder"), vocabulary("starcoder")
    encode = form.plain.encode
    prompt = form.build("a = ", "\nb\n", "m.py", 400, context=(A,))
    repo, file = (known.encode(text, special=True)[0] for text in ("<repo_name>", "<file_sep>"))
    front = (repo, *encode("project"), file, *encode("lib/a.py\ndef a():\n    pass\n"), file)
    assert prompt.ids == (*front, 1, 3, *encode("\nb\n"), 2, *encode("m.py\n"), *encode("a ="))


@pytest.mark.model
def test_the_default_models_chunks_are_named_as_its_files_are(default_model: InstalledModel) -> None:
    known = open_vocabulary(default_model.path)
    form = InfillFormat.for_model(known.metadata, known)
    encode = form.plain.encode
    prompt = form.build("a = ", "\nb\n", "src/m.py", 400, context=(A, B))
    front = (6, *encode("a.py\ndef a():\n    pass\n"), 6, *encode("b.py\ndef b():\n    pass\n"))
    assert prompt.ids == (*front, 9, *encode("\nb\n"), 8, 6, *encode("m.py\n"), *encode("a ="))


@pytest.mark.parametrize(
    ("context", "rate", "ids"),
    [
        (2048, None, 1024),
        (2048, 100.0, 680),  # even where that takes seven seconds
        (2048, 500.0, 680),
        (2048, 1000.0, 1200),
        (2048, 9000.0, 1536),
        (512, 1000.0, 384),
    ],
)
def test_the_window_is_what_is_read_in_time(context: int, rate: float | None, ids: int) -> None:
    assert window(context, rate) == ids


@pytest.mark.parametrize("name", ["starcoder", "deepseek-coder", "refact"])
def test_typing_and_a_new_chunk_leave_the_other_chunks_alone(name: str) -> None:
    form = format_of(name)
    prefix = "".join(f"value_{n} = compute({n})\n" for n in range(300))
    suffix = "".join(f"other_{n} = value_{n}\n" for n in range(100))
    typed = "def total(values):\n    return sum(value.weight for value in values)\n"
    chunks = tuple(
        Chunk(f"lib/{n}.py", f"def helper_{n}(first, second):\n    return {n}\n") for n in range(5)
    )
    prompts = [
        form.build(prefix + typed[:length], suffix, "m.py", 900, context=chunks[:4]).ids
        for length in range(len(typed))
    ]
    lost = [len(one) - common_length(one, two) for one, two in itertools.pairwise(prompts)]
    behind_cursor = len(form.plain.encode(suffix)) + 4 if not form.suffix_first else 0
    assert sorted(lost)[-3] <= 6 + behind_cursor  # a changed last word; the window moved twice at most
    before, after = (form.build(prefix, suffix, "m.py", 900, context=chunks[:n]).ids for n in (4, 5))
    kept = form.plain.decode(before[: common_length(before, after)])
    assert all(f"helper_{n}(".encode() in kept for n in range(4))


def test_a_session_in_one_file_reads_each_piece_once() -> None:
    vocabulary = ScriptedVocabulary()
    form = InfillFormat.for_model({}, vocabulary, "{suffix}<control>{prefix}")
    form = replace(form, repository=Repository(("{path}\n{text}\n",)))  # bytes: every character is an id
    slots = Slots(ScriptedBackend(hash_rule(vocabulary, seed=1, order=2), vocabulary, slots=1))
    typed, read = "total = net(price)\nprint(total)", []

    def ask(prefix: str, suffix: str, pieces: tuple[Chunk, ...]) -> None:
        ids = form.build(prefix, suffix, "m.py", 900, context=pieces).ids
        slot = slots.acquire("m.py", ids)
        read.append(len(ids) - len(slot.ids))
        slot.prefill(ids[len(slot.ids) :])

    for length in range(len(typed)):
        ask("import shop\n" + typed[:length], "\nend()\n", (A,))
    assert read[1:] == [1] * (len(typed) - 1)
    ask("import shop\n" + typed, "\nend()\n", (A, B))
    assert read[-1] == len("import shop\n" + typed) + 1 + len("\nend()\n") + len("lib/b.py\n" + B.text)
    ask("import", " shop\n" + typed + "\nend()\n", (A, B))  # elsewhere in the file
    assert read[-1] == len("import shop\n" + typed) + 1 + len("\nend()\n")


@settings(max_examples=60, deadline=None)
@given(
    st.integers(40, 700),
    st.lists(st.integers(0, 40), max_size=6),
    st.integers(0, 3000),
    st.integers(0, 3000),
)
def test_the_limit_is_kept_and_the_text_at_the_cursor_comes_first(
    limit: int, chunks: list[int], before: int, after: int
) -> None:
    form = format_of("starcoder")
    context = tuple(Chunk(f"{n}.py", f"line_{n} = {n}\n" * lines) for n, lines in enumerate(chunks))
    prefix, suffix = ("some = words * here\n" * 200)[:before], ("other + words\n" * 300)[:after]
    bare = form.build(prefix, suffix, "m.py", limit)
    full = form.build(prefix, suffix, "m.py", limit, context=context)
    assert len(full.ids) <= limit
    assert full.heal == bare.heal
    window = form.plain.decode(bare.ids[bare.ids.index(2) + 1 :])
    beside = form.plain.decode(full.ids[full.ids.index(2) + 1 :])
    text = beside.removeprefix(b"m.py\n")
    assert prefix.encode().endswith(text + full.heal)
    assert len(text) >= len(window) / 3


def test_requests_with_chunks_travel_and_are_checked() -> None:
    request = InfillRequest("d", "a", "b", context=(A, B))
    assert from_plain(InfillRequest, to_plain(request)) == request
    with pytest.raises(SettingsError, match=r"InfillRequest\.context\[1\] should be a Chunk"):
        InfillRequest("d", "a", "b", context=(A, "text"))  # type: ignore[arg-type]  # the mistake on purpose
    with pytest.raises(SettingsError, match=r"Chunk\.text should be a str"):
        Chunk("p", 3)  # type: ignore[arg-type]  # the mistake on purpose
    plain = to_plain(request)
    plain["context"][0]["text"] = 3
    with pytest.raises(ProtocolError, match=r"InfillRequest\.context\[\]\.text should be str"):
        from_plain(InfillRequest, plain)
