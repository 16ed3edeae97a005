"""Infill prompts of every family whose vocabulary can be had: exact formats, exact bytes, stable windows."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.vocabularies import vocabulary, vocabulary_file
from velospec.backends.llama_cpp import LlamaVocabulary, open_vocabulary
from velospec.core.errors import ContextError, InfillError
from velospec.models.gguf import read_head
from velospec.models.infill import InfillFormat, knows_infill
from velospec.models.store import InstalledModel

TEXTS = [
    "def fib(n):\n    retu",
    "\tif x:\n\t\treturn 'é😀日本'\n",
    "a\r\nb\x0cc\u2028d\u00a0e\u200d👩\u200d👩\u200d👧 \n\n\n   ",
    "x = '<fim_prefix>' + \"<|fim_suffix|>\"  # <｜fim▁hole｜> <filename> <|endoftext|> [SUFFIX] <PRE>\n",  # noqa: RUF001 - odd characters on purpose
    "s = '<issue_comment>' or '<issue_start>' or '<|im_end|>' or '<s></s>'\n",
    " leading and trailing ",
    "",
    "\n",
    "\x00\x01\x7f",
]
# SmolLM2 has no tokens for some control characters and unassigned planes; it leaves them out.
LETTERS = st.characters(exclude_categories=["Cs", "Cc", "Cn", "Co"], include_characters="\t\n\r\x0c")


@pytest.fixture(scope="session")
def fim_vocabulary(default_model: InstalledModel) -> LlamaVocabulary:
    return open_vocabulary(default_model.path)


@pytest.fixture(scope="session")
def fim(fim_vocabulary: LlamaVocabulary) -> InfillFormat:
    return InfillFormat.for_model(fim_vocabulary.metadata, fim_vocabulary)


def format_of(name: str, override: str | None = None) -> InfillFormat:
    known = vocabulary(name)
    return InfillFormat.for_model(known.metadata, known, override)


def common_prefix(one: Sequence[int], two: Sequence[int]) -> int:
    return len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False))))


@pytest.mark.model
def test_our_own_format_is_declared_by_the_file(fim: InfillFormat) -> None:
    prompt = fim.build("def fib(n):\n    retu", "\nprint(fib(3))\n", "/src/fib.py", 512)
    suffix, name = fim.plain.encode("\nprint(fib(3))\n"), fim.plain.encode("fib.py\n")
    assert prompt.ids == (9, *suffix, 8, 6, *name, *fim.plain.encode("def fib(n):\n   "))
    assert prompt.heal == b" retu"  # two tokens, since ` return` is one
    assert fim.suffix_first
    unnamed = fim.build("def fib(n):\n    retu", "\nprint(fib(3))\n", "", 512)
    endless = fim.build("def fib(n):\n    retu", "\nprint(fib(3))\n", "日本" * 42 + ".py", 256)
    assert endless == unnamed  # so long a name would leave no room for the text
    assert unnamed.ids == (9, *suffix, 8, *fim.plain.encode("def fib(n):\n   "))


@pytest.mark.parametrize(
    ("name", "before", "between", "after", "suffix_first"),
    [
        ("starcoder", (1, 3), (2,), (), True),
        ("refact", (1,), (3,), (2,), False),
        ("deepseek-coder", (32013, 32016), (32015,), (32017,), False),
    ],
)
def test_families_known_by_their_sentinels(
    name: str,
    before: tuple[int, ...],
    between: tuple[int, ...],
    after: tuple[int, ...],
    suffix_first: bool,
) -> None:
    form = format_of(name)
    prompt = form.build("def f(x):\n    retu", "\nprint(f(1))\n", "f.py", 256)
    kept, suffix = form.plain.encode("def f(x):\n   "), form.plain.encode("\nprint(f(1))\n")
    first, second = (suffix, kept) if suffix_first else (kept, suffix)
    assert prompt.ids == (*before, *first, *between, *second, *after)
    assert prompt.heal == b" retu"
    assert form.suffix_first is suffix_first
    assert knows_infill(read_head(vocabulary_file(name)))


def test_qwen_by_its_template_and_a_family_by_override() -> None:
    # This vocabulary is the Qwen2 base's, without the coder's sentinels, so their parts are named otherwise.
    form = format_of("qwen2", "<|im_start|>{prefix}<|im_end|>{suffix}<|endoftext|>")
    prompt = form.build("a = ", "b", "", 64)
    assert prompt.ids == (151644, *form.plain.encode("a ="), 151645, *form.plain.encode("b"), 151643)
    assert prompt.heal == b" "
    assert format_of("starcoder", "refact").parts == (1, "prefix", 3, "suffix", 2)


@pytest.mark.parametrize("name", ["qwen2", "llama-bpe", "gpt-2", "llama-spm"])
def test_models_without_infill_are_told_with_those_that_have_it(name: str) -> None:
    with pytest.raises(InfillError) as caught:
        format_of(name)
    assert "qwen2.5-coder-1.5b" in caught.value.remedy
    assert not knows_infill(read_head(vocabulary_file(name)))
    with pytest.raises(InfillError):
        format_of("qwen2", "<nothing>{prefix}{suffix}")


def test_ids_declared_by_llama_cpps_keys_are_used() -> None:
    known = vocabulary("gpt-2")
    declared = {f"tokenizer.ggml.fim_{part}_token_id": str(id_) for part, id_ in
                (("pre", 11), ("suf", 12), ("mid", 13))}  # fmt: skip
    assert InfillFormat.for_model(declared, known).parts == (11, "prefix", 12, "suffix", 13)


@pytest.mark.parametrize("name", ["starcoder", "deepseek-coder", "qwen2", "refact", "llama-bpe"])
@pytest.mark.parametrize("text", TEXTS)
def test_bytes_are_exact_and_sentinels_stay_text(name: str, text: str) -> None:
    form = format_of(name, "{suffix}{prefix}")
    ids = form.plain.encode(text)
    assert form.plain.decode(ids) == text.encode()
    known = vocabulary(name)
    assert not set(ids) & (known.control_ids | known.end_ids)
    prompt = form.build(text, "", "", 400)
    assert (
        form.plain.decode(i for i in prompt.ids if i not in known.control_ids) + prompt.heal == text.encode()
    )


@pytest.mark.model
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(LETTERS) | st.lists(st.sampled_from(TEXTS)).map("".join),
    st.text(LETTERS, max_size=50),
)
def test_any_prefix_is_exact(fim: InfillFormat, prefix: str, suffix: str) -> None:
    prompt = fim.build(prefix, suffix, "", 2000)
    before = prompt.ids.index(8) + 1
    assert prompt.ids.count(8) == prompt.ids.count(9) == 1
    window = fim.plain.decode(prompt.ids[before:]) + prompt.heal
    assert prefix.encode().endswith(window)
    assert window == prefix.encode() or len(prefix) > 1800


@pytest.mark.model
def test_typing_in_the_middle_of_a_long_file_appends(fim: InfillFormat) -> None:
    lines = [f"    value_{n} = compute(value_{n - 1}, scale={n % 7})" for n in range(5000)]
    before, after = "\n".join(lines[:2500]) + "\n", "\n" + "\n".join(lines[2500:])
    typed = (
        "    total = 0\n    for value in values:\n        total += weight * value\n        log(total)\n" * 3
    )
    prompts = [fim.build(before + typed[:n], after, "big.py", 1024) for n in range(201)]
    assert all(len(prompt.ids) <= 1024 for prompt in prompts)
    # What the next prompt does not share of the one before is a changed last word, never the window.
    lost = [len(one.ids) - common_prefix(one.ids, two.ids) for one, two in itertools.pairwise(prompts)]
    moves = [loss for loss in lost if loss > 6]
    assert len(moves) <= 1
    assert sum(loss > 2 for loss in lost) <= len(moves) + 2


@pytest.mark.model
def test_a_window_moves_in_large_strides(fim: InfillFormat) -> None:
    text = "".join(f"name_{n} = other_{n}\n" for n in range(2000))
    begins = []
    for length in range(20_000, 26_000, 10):
        prompt = fim.build(text[:length], "", "", 600)
        begins.append(length - len(fim.plain.decode(prompt.ids[2:]) + prompt.heal))
    moves = sum(one != two for one, two in itertools.pairwise(begins))
    assert 6000 / 500 / 2 < moves < 6000 / 300  # a move in several hundred characters


@pytest.mark.model
def test_the_suffix_is_cut_and_the_limit_kept(fim: InfillFormat) -> None:
    line = "return the_value_of_this_line\n"
    prompt = fim.build("x", line * 200, "", 1500)
    suffix = fim.plain.decode(prompt.ids[1 : prompt.ids.index(8)]).decode()
    assert suffix == line * (fim.suffix_characters // len(line))  # whole lines
    for limit in (40, 50, 100, 333):
        assert len(fim.build("日本" * 3000, "語" * 3000, "名.py", limit).ids) <= limit
    with pytest.raises(ContextError):
        fim.build("x", "y", "", 10)


@pytest.mark.model
def test_lone_surrogates_do_no_harm(fim: InfillFormat) -> None:
    assert fim.plain.decode(fim.plain.encode("a\ud800b")) == b"a?b"
