"""A small vocabulary that writes a text in many ways: bytes, words across symbols, split characters."""

from __future__ import annotations

_WORDS = (
    '{"', '":', '": "', '": ', '", "', '",', '"}', '"}\n', "{}", "[]", '["', '"]', "}}", "]}", "}\n",
    "},", ", ", ": ", " ", "  ", "\n", "\n\n", "\n  ", " {", ' "', ' "n', '"na', "name", "nam", "me",
    "tags", "age", '"age', "arg", "true", "false", "null", "tru", "12", "123", "1.", ".5", "-1", "e+",
    "0.", "00", "red", "green", "gre", "blu", "re", "a", "ab", "abc", "the", " the", " fox", "fox ",
    "The ", "\\n", '\\"', "\\u00", "\\u", "é", "éé", "ü", "😀", "日本", "本", "<tool", "<tool_call>",
    "_call>", "</tool_call>", "<", "</", "><", ">\n", '>\n{"', "call", "<|tool|>", "[CALL]", "<end>",
)  # fmt: skip
_SPLIT = (
    b"\xf0\x9f",
    b"\x98\x80",
    b"\x9f\x98",
    b'"\xf0\x9f\x98',
    b"\x80 ",
    b"\xc3",
    b'\xa9"',
    b"\xe6\x97",
    b"\xa5\xe6",
)
_CONTROL = ("<|tool|>", "[CALL]", "<|pad|>")
_END = ("<end>", "<|im_end|>")


class GrammarVocabulary:
    """Implements `backends.base.Vocabulary`: two end tokens; names of control tokens are words too."""

    def __init__(self) -> None:
        plain = [bytes((byte,)) for byte in range(256)]
        plain += [piece for word in _WORDS if (piece := word.encode()) not in plain]
        plain += [piece for piece in _SPLIT if piece not in plain]
        # Control tokens in the middle, as real vocabularies have them, and a size that is no multiple of 32.
        names = [*_CONTROL, *_END]
        self._pieces = [*plain[:300], *(b"" for _ in names), *plain[300:]]
        self._marks = {name: 300 + number for number, name in enumerate(names)}
        self.size = len(self._pieces)
        self.end_ids = frozenset(self._marks[name] for name in _END)
        self.control_ids = frozenset(self._marks.values())
        self._longest_first = sorted(range(self.size), key=lambda token: -len(self._pieces[token]))

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        """Greedy longest match; with `special`, names of control tokens are those."""
        data, ids = text.encode(), []
        while data:
            mark = next((name for name in self._marks if special and data.startswith(name.encode())), None)
            if mark is not None:
                ids.append(self._marks[mark])
                data = data[len(mark) :]
                continue
            token = next(
                t for t in self._longest_first if self._pieces[t] and data.startswith(self._pieces[t])
            )
            ids.append(token)
            data = data[len(self._pieces[token]) :]
        return ids

    def piece(self, token: int) -> bytes:
        return self._pieces[token]

    def mark(self, name: str) -> int:
        """The id of the control token `name`."""
        return self._marks[name]
