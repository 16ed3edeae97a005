"""The options of `velospec run`: their types, limits and help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Prompt = Annotated[
    str | None, typer.Option(help="Answer this by the chat model; - reads it from standard input.")
]
Raw = Annotated[
    bool, typer.Option("--raw", help="Continue the prompt as it stands, without a chat template.")
]
File = Annotated[Path | None, typer.Option(help="Complete at a cursor in this file instead.")]
Line = Annotated[int | None, typer.Option(min=1, help="The cursor's line, from 1.")]
Column = Annotated[
    int | None, typer.Option(min=1, help="Its column in characters, from 1; the line's end if left out.")
]
Model = Annotated[
    str | None, typer.Option(help="An installed model, instead of the default for the purpose.")
]
MaxTokens = Annotated[int, typer.Option(min=1, help="The most tokens to write.")]
Temperature = Annotated[
    float, typer.Option(help="0 takes the likeliest token each time, more is more varied.")
]
TopK = Annotated[int, typer.Option(help="Only the k likeliest tokens; 0 for all.")]
TopP = Annotated[float, typer.Option(help="Only the likeliest of this joint share.")]
MinP = Annotated[float, typer.Option(help="Only those of this share of the likeliest one's probability.")]
RepetitionPenalty = Annotated[
    float, typer.Option(help="Over 1 makes tokens that were there already less likely.")
]
Seed = Annotated[
    int | None, typer.Option(help="The same seed draws the same text again; a new one if left out.")
]
Schema = Annotated[
    str | None, typer.Option(metavar="FILE|JSON|-", help="Answer with JSON that obeys this JSON Schema.")
]
JsonValue = Annotated[bool, typer.Option("--json-value", help="Answer with one JSON value, whichever.")]
Regex = Annotated[
    str | None, typer.Option(help="Answer with a text that this regular expression matches as a whole.")
]
GrammarFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE|-", help="Answer with a text of this grammar, in llama.cpp's notation."),
]
Tools = Annotated[
    Path | None,
    typer.Option(metavar="FILE|-", help="Let the model call these functions: a list in OpenAI's JSON."),
]
ToolChoiceText = Annotated[
    str | None,
    typer.Option(
        metavar="auto|none|required|NAME|JSON",
        help="Whether it has to call one, and which; JSON is read as OpenAI's API has it.",
    ),
]
Parallel = Annotated[bool, typer.Option(help="Whether it may call several in one answer.")]
Drafts = Annotated[bool, typer.Option(help="Whether to draft; the text is the same.")]
Stats = Annotated[bool, typer.Option("--stats", help="Show counts and times afterwards, on standard error.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the text, its end and the statistics as JSON.")]
