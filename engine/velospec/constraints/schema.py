"""JSON Schemas made ready for the grammar engines: checked for what those cannot enforce, and written anew.

What a grammar made of one accepts is valid. What is valid is accepted in its canonical form:

- the members of an object stand in the order in which the schema names them: its own `properties`, those of
  `$ref` and `allOf`, those of a branch of `anyOf`, `oneOf`, `if` or `dependentSchemas`, then what is required
  and not named, then all others;
- strings have no escapes but those that JSON demands, and one for the character DEL;
- whole numbers have no point and no exponent, other numbers no exponent where they are limited or enumerated;
- members of an enumeration are as they stand in the schema, 1.0 as 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from velospec.constraints.json_schema.documents import Document
from velospec.constraints.json_schema.normal_form import NormalForm
from velospec.constraints.json_schema.pruning import pruned
from velospec.constraints.json_schema.reading import TooDeepError, read_schema
from velospec.constraints.json_schema.refusals import Refusal, Refusals
from velospec.constraints.json_schema.rules import Rules
from velospec.constraints.validation import Judge
from velospec.core.errors import GrammarError

_MOST_KEPT = 512  # prepared schemas
_REMEDY = "Take it out of the schema, and check the answer for it."
_TOO_DEEP = "Put what is deep inside under $defs, and refer to it by $ref."


@dataclass(frozen=True, slots=True)
class PreparedSchema:
    """A schema in the form that the engines enforce as it stands: a schema of draft 2020-12 of few keywords.

    `weakened` names what of the source it leaves out; nothing, unless that was asked for.
    """

    schema: dict[str, Any]
    weakened: tuple[str, ...] = ()


@lru_cache(maxsize=_MOST_KEPT)
def check_schema(source: str, *, weaken: bool = False) -> PreparedSchema:
    """The schema in the JSON text `source`; remembered, since schemas are checked before they are compiled.

    Raises GrammarError where it is not one, where no value satisfies it and, unless `weaken`, where a keyword
    cannot be enforced: the error names it, with its JSON pointer.
    """
    try:
        return _prepared(read_schema(source), Refusals(weaken=weaken))
    except TooDeepError as error:
        raise GrammarError(f"The JSON Schema is too deep: {error}.", _TOO_DEEP) from error
    except ValueError as error:
        raise GrammarError(f"The JSON Schema is not JSON: {error}.", "Mend the schema's text.") from error
    except Refusal as refusal:
        raise GrammarError(f"The JSON Schema cannot be enforced at {refusal}.", _REMEDY) from refusal
    except RecursionError as error:  # of references, each to the next
        raise GrammarError("The JSON Schema is too deep.", _TOO_DEEP) from error


def _prepared(schema: Any, refusals: Refusals) -> PreparedSchema:
    """Raises Refusal, RecursionError, and GrammarError for what is no schema and what nothing satisfies."""
    judge = Judge(schema)
    if judge.malformed or judge.draft_3:
        why = judge.malformed or "#/$schema: draft 3 is not supported"
        raise GrammarError(f"The JSON Schema is malformed at {why}.", "Mend the schema.")
    if judge.unknown_draft:
        refusals.meet(Refusal("#/$schema", f"{judge.unknown_draft} is no draft that is known"))
    document = Document(schema, known=judge.keywords, siblings=judge.siblings, identifier=judge.identifier)
    form = pruned(*NormalForm(document, Rules(document, refusals), judge, refusals).write())
    if form is False:
        raise GrammarError(
            "No value satisfies the JSON Schema.", "Look for parts of it that exclude each other."
        )
    return PreparedSchema(form if isinstance(form, dict) else {}, refusals.messages)
