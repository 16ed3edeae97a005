"""N-gram rules over lexemes, and the pack that they are kept and shipped in.

A rule says which lexeme follows a context of some, how often the context was seen in the mined code and how
often that lexeme followed. The longest context that has a rule decides, also where its rule is that nothing
follows reliably. Knows no tokenizer: `token_rules` puts a pack into the tokens of a model.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from hashlib import sha256
from importlib import resources
from typing import NamedTuple

MAX_CONTEXT = 8
"""Lexemes of the longest context."""

_MAGIC = b"VELOSPEC-RULES-1\n"
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]
_END = b"\0"  # of the table of lexemes, in which JSON escapes it


class Tier(IntEnum):
    """How reliable a rule was where it was mined."""

    NONE = 0  # no lexeme follows reliably: shorter contexts are not to be asked
    FREQUENT = 1
    STRONG = 2
    DETERMINISTIC = 3


def tier(hits: int, support: int) -> Tier:
    """The tier of a rule that held `hits` times of `support`."""
    if support < 2 or 2 * hits < support:
        return Tier.NONE
    if hits >= 0.999 * support:
        return Tier.DETERMINISTIC
    return Tier.STRONG if hits >= 0.85 * support else Tier.FREQUENT


class Rule(NamedTuple):
    """`follows` came after the context `hits` times of the `support` that it was seen; empty where NONE."""

    follows: str
    hits: int
    support: int

    @property
    def tier(self) -> Tier:
        return tier(self.hits, self.support) if self.follows else Tier.NONE


class RulePack:
    """The rules of one language, by context."""

    def __init__(self, rules: Mapping[tuple[str, ...], Rule]) -> None:
        """Contexts have 1 to MAX_CONTEXT lexemes."""
        self.rules = dict(sorted(rules.items(), key=lambda item: item[0][::-1]))

    def __len__(self) -> int:
        return len(self.rules)

    def find(self, lexemes: Sequence[str]) -> Rule | None:
        """The rule of the longest context that ends `lexemes`."""
        for length in range(min(MAX_CONTEXT, len(lexemes)), 0, -1):
            rule = self.rules.get(tuple(lexemes[-length:]))
            if rule is not None:
                return rule
        return None

    def follow(self, context: Sequence[str], *, least: float, limit: int) -> Iterator[tuple[str, float]]:
        """What follows `context` by the rules, lexeme by lexeme, with the chance that it does up to there.

        At most `limit` lexemes, while the chance is no less than `least`.
        """
        lexemes, chance = list(context), 1.0
        for _ in range(limit):
            rule = self.find(lexemes)
            if rule is None or not rule.follows:
                return
            chance *= rule.hits / rule.support
            if chance < least:
                return
            lexemes.append(rule.follows)
            yield rule.follows, chance

    def to_bytes(self) -> bytes:
        """The pack as a file; equal rules make equal bytes."""
        words = sorted({word for context, rule in self.rules.items() for word in (*context, rule.follows)})
        number = {word: index for index, word in enumerate(words)}
        body = bytearray(json.dumps(words, ensure_ascii=False).encode() + _END)
        before: tuple[str, ...] = ()
        for context, rule in self.rules.items():
            turned = context[::-1]
            shared = next((i for i, (a, b) in enumerate(zip(before, turned, strict=False)) if a != b), None)
            shared = min(len(before), len(turned)) if shared is None else shared
            fields = (shared, len(turned) - shared, *(number[word] for word in turned[shared:]))
            for value in (*fields, number[rule.follows], rule.hits, rule.support):
                _write(body, value)
            before = turned
        return _MAGIC + lzma.compress(bytes(body), format=lzma.FORMAT_RAW, filters=_FILTERS)

    @classmethod
    def from_bytes(cls, data: bytes) -> RulePack:
        """Read what `to_bytes` wrote. Raises ValueError on data that is not that."""
        if not data.startswith(_MAGIC):
            raise ValueError("not a pack of rules")
        try:
            body = lzma.decompress(data[len(_MAGIC) :], format=lzma.FORMAT_RAW, filters=_FILTERS)
            table, _, rest = body.partition(_END)
            return cls(dict(_read_rules(json.loads(table), rest)))
        except (lzma.LZMAError, IndexError, ValueError, RuntimeError) as error:
            raise ValueError("a damaged pack of rules") from error


def shipped_pack(language: str) -> bytes:
    """The file of the pack that comes with VeloSpec for `language`."""
    return (resources.files(__package__) / "packs" / f"{language}.rules").read_bytes()


def digest(pack: bytes) -> str:
    """Names the contents of a pack's file."""
    return sha256(pack).hexdigest()[:16]


def _read_rules(words: Sequence[str], data: bytes) -> Iterator[tuple[tuple[str, ...], Rule]]:
    values = _values(data)
    turned: list[str] = []
    for shared in values:
        del turned[shared:]
        turned += [words[next(values)] for _ in range(next(values))]
        yield tuple(turned[::-1]), Rule(words[next(values)], next(values), next(values))


def _write(body: bytearray, value: int) -> None:
    """Seven bits a byte, the low ones first, the top bit set in all but the last."""
    while value > 127:
        body.append(value & 127 | 128)
        value >>= 7
    body.append(value)


def _values(data: bytes) -> Iterator[int]:
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0
