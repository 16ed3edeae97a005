"""The grammar of an answer with calls of tools: each call in the model's style, its arguments by its schema.

Knows tools, choices and styles; nothing of engines, templates or answers.
"""

from __future__ import annotations

from collections.abc import Sequence

from velospec.constraints.closing import closed
from velospec.constraints.schema import check_schema
from velospec.core.errors import GrammarError
from velospec.core.grammar import Grammar, GrammarKind, Tag, Tags, Whitespace
from velospec.core.tools import Tool, ToolChoice, ToolMode, ToolStyle

MOST_TOOLS = 512
MOST_CHARACTERS = 1_000_000  # of all schemas together
_FEWER = "Give the model fewer tools, or narrow the choice to those that may be of use."


def tool_grammar(
    tools: Sequence[Tool],
    choice: ToolChoice,
    style: ToolStyle,
    whitespace: Whitespace = Whitespace.SPACED,
    *,
    thinks: bool = False,
) -> Grammar | None:
    """The grammar of answers to a question with `tools`; None where no call is possible.

    AUTO leaves the text free up to the style's trigger, behind which a call has to come; REQUIRED begins
    with a call at once and is nothing but calls, unless the model `thinks` before it answers: then text comes
    first. One tool by name is called once. Arguments have no properties but those that the schema names,
    unless it says so itself: see `closed`.
    Raises GrammarError, which names the tool and the place in its schema.
    """
    able = choice.among(tuple(tools))
    if not able:
        return None
    _check_size(able)
    schemas = [closed(tool.parameters) for tool in able]
    for tool, schema in zip(able, schemas, strict=True):
        _check(tool.name, schema)
    required = choice.mode is ToolMode.REQUIRED
    named = required and len(choice.names) == 1
    return Grammar(
        GrammarKind.TAGS,
        whitespace=whitespace,
        tags=Tags(
            tuple(
                Tag(style.begin + tool.name + style.middle, schema, style.end)
                for tool, schema in zip(able, schemas, strict=True)
            ),
            trigger=style.trigger,
            free_text=thinks or not required,
            at_least_one=required,
            parallel=choice.parallel and style.several and not named,
            separator=style.separator,
            opening=style.opening,
            closing=style.closing,
        ),
    )


def _check_size(tools: Sequence[Tool]) -> None:
    if len(tools) > MOST_TOOLS:
        raise GrammarError(f"{len(tools)} tools are too many; {MOST_TOOLS} is the most.", _FEWER)
    characters = sum(len(tool.parameters) for tool in tools)
    if characters > MOST_CHARACTERS:
        raise GrammarError(
            f"The schemas of the tools have {characters:,} characters; {MOST_CHARACTERS:,} is the most.",
            _FEWER,
        )


def _check(name: str, schema: str) -> None:
    try:
        check_schema(schema)
    except GrammarError as error:
        raise GrammarError(f'The tool "{name}": {error.cause}', error.remedy) from error
