"""What the chat model is asked: turns of the user and of the assistant, since some templates take no others.

The code of a passage is shown as the call that would leave it as it is. So the model sees the form of its
answer, and what it keeps is drafted from its own prompt. For documentation and names an example comes first:
with it, even a small model answers to the point. For a rewrite it does not help, and small models copy it.
"""

from __future__ import annotations

from velospec.core.messages import Message
from velospec_lsp.editing.calls import write_call

Turns = tuple[Message, ...]

_TITLES = {
    "c": "C",
    "cpp": "C++",
    "go": "Go",
    "java": "Java",
    "javascript": "JavaScript",
    "javascriptreact": "JavaScript (JSX)",
    "python": "Python",
    "rust": "Rust",
    "sh": "shell",
    "shellscript": "shell",
    "typescript": "TypeScript",
    "typescriptreact": "TypeScript (TSX)",
}


_EXAMPLE = "def area(width, height):\n    return width * height"
_EXAMPLE_SAID = {
    "summary": "Computes the area of a rectangle.",
    "parameters": {"width": "Width of the rectangle.", "height": "Height of the rectangle."},
    "returns": "The area.",
}
_NAMED = "def area(w, h):\n    a = w * h\n    return a"
_EXAMPLE_NAMES = ["area", "surface", "product"]


def ask_replacement(language: str, code: str, instruction: str) -> Turns:
    """Rewrite `code` as `instruction` says."""
    return _user(
        f"Rewrite this {_title(language)} code. {_sentence(instruction)}\n\n{_fenced(language, code)}\n\n"
        f"The code as a call:\n{write_call('replace', {'code': code})}\n\n"
        "Answer with such a call that holds the whole new code."
    )


def ask_insertion(language: str, before: str, after: str, instruction: str) -> Turns:
    """Write code that stands between `before` and `after`."""
    here = f"{before}<here>{after}"
    return _user(
        f"Write {_title(language)} code that goes where <here> stands. {_sentence(instruction)}\n\n"
        f"{_fenced(language, here)}\n\nAnswer with the call insert that holds the new code alone."
    )


def ask_documentation(language: str, code: str, name: str) -> Turns:
    """Tell what the function `name`, whose text is `code`, does."""
    example = _what_does("python", _EXAMPLE, "area")
    return _with_example(example, write_call("document", _EXAMPLE_SAID), _what_does(language, code, name))


def ask_names(language: str, code: str, name: str) -> Turns:
    """Find better names for the variable `name`, which occurs in `code`."""
    example = _which_names("python", _NAMED, "a")
    return _with_example(
        example, write_call("rename", {"names": _EXAMPLE_NAMES}), _which_names(language, code, name)
    )


def _what_does(language: str, code: str, name: str) -> str:
    return (
        f"{_fenced(language, code)}\n\nWhat does the {_title(language)} function `{name}` do? Answer with a "
        "call of document: one sentence on what it does, and a few words on each parameter and the result."
    )


def _which_names(language: str, code: str, name: str) -> str:
    return f"{_fenced(language, code)}\n\nGive three better names for the variable `{name}`."


def _user(text: str) -> Turns:
    return (Message("user", text),)


def _with_example(asked: str, answered: str, asking: str) -> Turns:
    return (Message("user", asked), Message("assistant", answered), Message("user", asking))


def _title(language: str) -> str:
    return _TITLES.get(language, language)


def _sentence(instruction: str) -> str:
    text = " ".join(instruction.split())
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _fenced(language: str, code: str) -> str:
    fence = "```"
    while fence in code:
        fence += "`"
    return f"{fence}{language}\n{code}\n{fence}"
