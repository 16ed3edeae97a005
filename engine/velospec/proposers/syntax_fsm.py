"""Drafts what the syntax of the language asks for: an automaton over token ids, made of the syntax rules.

The rules of a language are compiled into a machine over bytes (`syntax_rules`). What a token does in a state
is worked out once, from the token's bytes, and kept, so that following the text is a look-up per id; so are
the ids of each text that a rule writes, made by the model's own tokenizer after the token that stands before,
since a text has other ids where it would have merged with that token, and no ids where it must have.

Each rule's fate is counted, also where its draft was not scored. Of the rules that apply, the one that has
kept its word best drafts; one that fails several times in a row rests, longer each time, and then gets one
more try. Where a rule's text ends, the rules that apply there go on. Knows nothing of what others draft.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from velospec.backends.base import Vocabulary
from velospec.core.draft import EMPTY, Draft, Verdict
from velospec.proposers.cursor import before_cursor
from velospec.proposers.structure.encoding import encode_behind
from velospec.proposers.syntax_rules import LANGUAGES, language, read
from velospec.proposers.syntax_rules.base import Language
from velospec.proposers.syntax_rules.machine import Effect, Machine, render

RULES_PER_LANGUAGE = 256
_MOST_KEPT = 60_000  # entries of a memo before it starts anew; about 150 bytes each
_WEIGHT = 4.0  # outcomes that a rule's prior counts for
_MEMORY = 0.95  # what an outcome leaves of the ones before it
_FAILURES = 4  # in a row, until a rule rests
_REST, _LONGEST_REST = 64, 4096  # decided ids


class SyntaxFsm:
    """The proposer `syntax_fsm`. Its evidence is the rule that began the draft; `rule_name` tells it."""

    name = "syntax_fsm"

    def __init__(self, vocabulary: Vocabulary, *, language: str = "") -> None:
        self._vocabulary = vocabulary
        self._tables: dict[str, _Table] = {}
        self._language = language
        self._table: _Table | None = None
        self._place = _Place()
        self._last = -1
        self._offered: list[tuple[_Record, tuple[int, ...]]] = []
        self._clock = 0

    def use_language(self, name: str) -> None:
        """The language of the next request; one that has no rules gets no drafts."""
        self._language = name

    def begin(self, ids: Sequence[int]) -> None:
        self._table = self._load(self._language)
        self._place = _Place()
        self._offered = []
        self._last = -1
        if self._table is not None:
            self._place.unit = self._table.unit
            self._advance(before_cursor(ids, self._vocabulary.control_ids))

    def extend(self, ids: Sequence[int]) -> None:
        self._clock += len(ids)
        self._judge(ids)
        self._advance(ids)

    def propose(self, limit: int) -> Draft:
        table = self._table
        self._offered = []
        if table is None or limit < 1 or not table.machine.matches(self._place.state):
            return EMPTY
        place, last = self._place, self._last
        ids: list[int] = []
        while len(ids) < limit and (found := self._continue(table, place, last)) is not None:
            self._offered.append(found)
            ids += found[1]
            place, last = place.copy(), ids[-1]
            for token in found[1]:
                table.advance(place, token)
        if not ids:
            return EMPTY
        first = self._offered[0][0]
        return Draft(tuple(ids[:limit]), self.name, first.evidence, first.prior)

    def observe(self, verdict: Verdict) -> None:
        """Nothing left to learn: `extend` has compared every draft, scored or not, with what was decided."""

    def _load(self, name: str) -> _Table | None:
        known = self._tables.get(name)
        if known is None and (found := language(name)) is not None:
            known = self._tables[name] = _Table(found, self._vocabulary)
        return known

    def _advance(self, ids: Sequence[int]) -> None:
        if self._table is None or not ids:
            return
        for token in ids:
            self._table.advance(self._place, token)
        self._last = ids[-1]

    def _continue(self, table: _Table, place: _Place, last: int) -> tuple[_Record, tuple[int, ...]] | None:
        """The best rule that applies at `place` after the token `last`, and its ids."""
        best: tuple[_Record, tuple[int, ...]] | None = None
        for match in table.machine.matches(place.state):
            record = table.records[match.rule]
            if record.rests_until > self._clock or (best is not None and record.rate <= best[0].rate):
                continue
            present = place.present if table.machine.fresh(place.state) else None
            text = render(record.text, match.written, place.indentation, place.unit, present)
            if text and (ids := table.encode(last, text)):
                best = record, ids
        return best

    def _judge(self, decided: Sequence[int]) -> None:
        """Charge each rule of the last draft with what was decided where it wrote."""
        for record, ids in self._offered:
            seen = decided[: len(ids)]
            if not seen:
                break
            right = tuple(seen) == ids[: len(seen)]
            record.count(self._clock, right=right)
            if not right:
                break
            decided = decided[len(ids) :]
        self._offered = []


def rule_name(evidence: int) -> str:
    """What the rule behind a draft's evidence says, for traces: its language, left side and text."""
    name, number = LANGUAGES[evidence // RULES_PER_LANGUAGE], evidence % RULES_PER_LANGUAGE
    rule = read(name).rules[number]
    return f"{name}: {rule.left} -> {rule.text!r}"


class _Record:
    """One rule's text and fate."""

    __slots__ = ("_failures", "_rest", "_right", "_seen", "evidence", "prior", "rate", "rests_until", "text")

    def __init__(self, text: str, evidence: int, prior: float) -> None:
        self.text = text
        self.evidence = evidence
        self.prior = prior
        self.rate = prior  # how often it was right, lately
        self.rests_until = 0  # on the clock of decided ids
        self._seen = 0.0
        self._right = 0.0
        self._failures = 0
        self._rest = _REST

    def count(self, now: int, *, right: bool) -> None:
        self._seen = self._seen * _MEMORY + 1
        self._right = self._right * _MEMORY + right
        self.rate = (self._right + _WEIGHT * self.prior) / (self._seen + _WEIGHT)
        if right:
            self._failures, self._rest = 0, _REST
            return
        self._failures += 1
        if self._failures >= _FAILURES:
            self.rests_until = now + self._rest
            self._rest = min(2 * self._rest, _LONGEST_REST)
            self._failures = _FAILURES - 1  # back on probation


class _Place:
    """The end of a text: automaton state and indentation. Mutable; `copy` to look ahead."""

    __slots__ = ("depth", "indentation", "joined", "present", "state", "unit", "units")

    def __init__(self) -> None:
        self.state = Machine.START
        self.depth = 0  # open brackets that join lines
        self.indentation = b""  # of the line that began the statement
        self.present = b""  # whitespace that begins the current line
        self.joined = False  # the current line goes on with a statement
        self.unit = b"    "
        self.units: Counter[bytes] = Counter()  # steps of indentation that were seen

    def copy(self) -> _Place:
        twin = _Place()
        twin.state, twin.depth, twin.indentation = self.state, self.depth, self.indentation
        twin.present, twin.joined, twin.unit = self.present, self.joined, self.unit
        twin.units = self.units.copy()
        return twin

    def apply(self, effect: Effect) -> None:
        """Follow a token that changes more than the automaton's state."""
        self.state = effect.state
        if effect.newline:
            self.depth = max(0, self.depth + effect.depth_before)
            self.joined = self.depth > 0
            self.present = b""
        self.present += effect.indentation
        if effect.begins and not self.joined:
            step = self.present[len(self.indentation) :]
            if step and self.present.startswith(self.indentation):
                self.units[step] += 1
                self.unit = max(self.units, key=self.units.__getitem__)
            self.indentation = self.present
        self.depth = max(0, self.depth + effect.depth_after)


class _Table:
    """One language for one vocabulary: what tokens do in its machine, and the ids of what rules write."""

    def __init__(self, language: Language, vocabulary: Vocabulary) -> None:
        self.machine = Machine(language)
        self.unit = language.unit.encode()
        base = LANGUAGES.index(language.name) * RULES_PER_LANGUAGE
        self.records = [_Record(r.text, base + i, r.prior) for i, r in enumerate(language.rules)]
        self._vocabulary = vocabulary
        self._effects: dict[int, int | Effect] = {}  # state * vocabulary + token -> state, if no more changes
        self._texts: dict[tuple[int, bytes], tuple[int, ...]] = {}

    def advance(self, place: _Place, token: int) -> None:
        """Let `place` follow `token`."""
        key = place.state * self._vocabulary.size + token
        effect = self._effects.get(key)
        if effect is None:
            effect = self._work_out(key, place.state, token)
        if isinstance(effect, int):
            place.state = effect
        else:
            place.apply(effect)

    def encode(self, last: int, text: bytes) -> tuple[int, ...]:
        """The ids of `text` after the token `last`; none where the tokenizer would have merged the two."""
        key = (last, text)
        known = self._texts.get(key)
        if known is None:
            if len(self._texts) >= _MOST_KEPT:
                self._texts.clear()
            before = self._vocabulary.piece(last) if last >= 0 else b"\n"
            # The last space of an indentation goes into the word behind it; a letter stands for that.
            whole = text + b"x" if text[-1:].isspace() else text
            known = self._texts[key] = encode_behind(self._vocabulary, before, whole, len(text))
        return known

    def _work_out(self, key: int, state: int, token: int) -> int | Effect:
        full = self.machine.walk(state, self._vocabulary.piece(token))
        plain = not (full.newline or full.begins or full.indentation or full.depth_after)
        effect = full.state if plain else full
        if len(self._effects) >= _MOST_KEPT:
            self._effects.clear()
        self._effects[key] = effect
        return effect
