"""Chat prompts: messages and tools put into one text by the template that the model's own file brings along.

Such templates are programs in Jinja that expect what the `transformers` library offers them, which this
module does as far as templates use it. They come with files from anywhere, so they run in a sandbox, which
lets them see nothing but the messages and the tools. What is not known here: how the text becomes ids (its
control tokens are to be read as such), and how answers are read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

import jinja2
from jinja2.ext import Extension
from jinja2.nodes import Node
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from velospec.core.errors import ChatError
from velospec.core.messages import Message
from velospec.core.tools import Tool
from velospec.models.chat_tools import find_form
from velospec.models.control_texts import ControlTexts
from velospec.models.gguf import read_head, token_texts
from velospec.models.tool_form import ToolForm, plain_message, plain_tools
from velospec.models.tool_prompt import system_as_user, with_tools

__all__ = ["TEMPLATE", "ChatFormat", "Message"]

TEMPLATE = "tokenizer.chat_template"

_MARKS = {"bos_token": "tokenizer.ggml.bos_token_id", "eos_token": "tokenizer.ggml.eos_token_id"}
_REMEDY = "Continue its text as it stands with --raw, or choose a model that is made for chat."


@dataclass(frozen=True, slots=True)
class ChatFormat:
    """One model's chat format: its compiled template, and the texts of the tokens that it names."""

    name: str  # of the model, for messages to the user
    template: jinja2.Template
    marks: dict[str, str]  # bos_token and eos_token, where the vocabulary has them
    tools: ToolForm = field(default_factory=ToolForm)  # what the template does about tools
    control: ControlTexts = field(default_factory=lambda: ControlTexts(set()))

    @classmethod
    def for_file(cls, path: Path) -> ChatFormat:
        """The format of the GGUF file `path`.

        Raises ChatError where it has none that can be read, ModelLoadError where the file is damaged.
        """
        scalars = read_head(path).scalars
        name = str(scalars.get("general.name", path.name))
        source = scalars.get(TEMPLATE)
        if not isinstance(source, str):
            raise ChatError(f"{name} has no chat template.", _REMEDY)
        ids = {mark: int(scalars[key]) for mark, key in _MARKS.items() if key in scalars}
        texts = token_texts(path, ids.values())
        marks = {mark: texts[token] for mark, token in ids.items() if token in texts}
        return replace(cls.of(name, source, marks), control=ControlTexts.of_file(path))

    @classmethod
    def of(cls, name: str, source: str, marks: dict[str, str]) -> ChatFormat:
        """The format of the template `source`. Raises ChatError where it cannot be read."""
        try:
            plain = cls(name, _environment().from_string(source), marks)
        except jinja2.TemplateError as error:
            raise ChatError(f"The chat template of {name} cannot be read: {error}.", _REMEDY) from error
        return replace(plain, tools=find_form(plain.run, source))

    def render(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> str:
        """The text after which the model writes its answer to `messages`, control tokens written out.

        Those in the messages' own texts are parted, see `models.control_texts`.

        The model is told of `tools` by its own template, or by a text of ours where that knows no tools.
        Raises ChatError where the template refuses them, such as a system message that it has no place for.
        """
        prepared = with_tools(messages, tools, self.tools)
        listed = self.control.part(plain_tools(tools)) if self.tools.lists else []
        try:
            return self.run(self._plain(prepared), listed)
        except ChatError:
            if not tools or self.tools.lists:
                raise
            prepared = system_as_user(prepared)  # the text of ours is to find a place all the same
            return self.run(self._plain(prepared), listed)

    def _plain(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        plain: list[dict[str, Any]] = [plain_message(message, self.tools) for message in messages]
        return [self.control.part(message) for message in plain]

    def run(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]], *, generate: bool = True
    ) -> str:
        """What the template makes of plain maps; `generate` has it begin an answer. Raises ChatError."""
        given = (
            {"tools": tools, "xml_tools": tools} if tools else {}
        )  # SmolLM3 has a name of its own for them
        try:
            return self.template.render(
                messages=messages, add_generation_prompt=generate, **given, **self.marks
            )
        except (jinja2.TemplateError, TypeError, ValueError, LookupError, ArithmeticError) as error:
            raise ChatError(
                f"The chat template of {self.name} does not take these messages: {error}.", _REMEDY
            ) from error


class _Generation(Extension):
    """The block `generation`, which marks what the model wrote, for training; its content counts alone."""

    tags = {"generation"}  # noqa: RUF012 - jinja2 types it so

    def parse(self, parser: Parser) -> Node | list[Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _environment() -> jinja2.Environment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", _Generation]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = _now
    return environment


def _to_json(
    value: object,
    ensure_ascii: bool = False,  # noqa: FBT001, FBT002 - as `transformers` has it, by place or by name
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,  # noqa: FBT001, FBT002 - as above
) -> str:
    """Jinja's own filter of this name escapes for HTML, which no model was trained on."""
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _refuse(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def _now(form: str) -> str:
    return datetime.now().astimezone().strftime(form)
