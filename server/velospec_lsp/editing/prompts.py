"""What the chat model is asked: one message of the user's, since some templates take no other.

The code of a passage is shown as the call that would leave it as it is. So the model sees the form of its
answer, and what it keeps is drafted from its own prompt.
"""

from __future__ import annotations

from velospec_lsp.editing.calls import NAMES, write_call

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


def ask_replacement(language: str, code: str, instruction: str) -> str:
    """Rewrite `code` as `instruction` says."""
    return (
        f"Rewrite this {_title(language)} code. {_sentence(instruction)}\n\n{_fenced(language, code)}\n\n"
        f"The code as a call:\n{write_call('replace', {'code': code})}\n\n"
        "Answer with such a call that holds the whole new code."
    )


def ask_insertion(language: str, before: str, after: str, instruction: str) -> str:
    """Write code that stands between `before` and `after`."""
    here = f"{before}<here>{after}"
    return (
        f"Write {_title(language)} code that goes where <here> stands. {_sentence(instruction)}\n\n"
        f"{_fenced(language, here)}\n\nAnswer with the call insert that holds the new code alone."
    )


def ask_documentation(language: str, code: str) -> str:
    """Tell what the function `code` does."""
    return (
        f"Write the documentation of this {_title(language)} function: what it does in one sentence, "
        f"and what its parameters are.\n\n{_fenced(language, code)}\n\nCall the tool document."
    )


def ask_names(language: str, code: str, name: str) -> str:
    """Find a better name for `name`, which occurs in `code`."""
    return (
        f"Suggest {NAMES} better names for `{name}` in this {_title(language)} code, the best first.\n\n"
        f"{_fenced(language, code)}\n"
    )


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
