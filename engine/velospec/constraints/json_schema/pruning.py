"""Takes out of a normal form what no value can be, and puts small forms where they are used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from velospec.constraints.json_schema.objects import Form

_REFERENCE = "#/$defs/"


def pruned(root: str, forms: dict[str, Form]) -> Form:
    """One schema with `$defs`, made of `forms`, whose root is `root`; False where no value satisfies it."""
    possible = _possible(forms)
    if root not in possible:
        return False
    forms = {name: _without_impossible(form, possible) for name, form in forms.items() if name in possible}
    small = {name: form for name, form in forms.items() if name != root and not _is_large(form)}
    forms = {name: _with_small(form, small) for name, form in forms.items() if name not in small}
    used = _used(root, forms)
    top = forms[root]
    if root in used:
        return {
            "anyOf": [{"$ref": _REFERENCE + root}],
            "$defs": {name: forms[name] for name in forms if name in used},
        }
    if not isinstance(top, dict):
        return top
    rest = {name: form for name, form in forms.items() if name in used}
    return {**top, "$defs": rest} if rest else top


def _possible(forms: dict[str, Form]) -> set[str]:
    """The names of forms that some value of finite size has."""
    possible: set[str] = set()
    waiting = list(reversed(forms))
    while True:
        left = []
        for name in waiting:
            if _is_possible(forms[name], possible):
                possible.add(name)
            else:
                left.append(name)
        if len(left) == len(waiting):
            return possible
        waiting = left


def _is_possible(form: Form, possible: set[str]) -> bool:
    if isinstance(form, bool):
        return form
    if "$ref" in form:
        return _name(form) in possible
    if "anyOf" in form:
        return any(_is_possible(option, possible) for option in form["anyOf"])
    return all(any(_is_possible(option, possible) for option in options) for options in _needed(form))


def _needed(form: dict[str, Any]) -> list[list[Form]]:
    """What is in every value of `form`: of each list of forms, a value of one."""
    if form.get("type") == "array":
        before = form.get("prefixItems", [])
        least = form.get("minItems", 0)
        rest = [[form.get("items", True)]] if least > len(before) else []
        return [*([item] for item in before[:least]), *rest]
    if form.get("type") == "object":
        named = [[form["properties"][name]] for name in form.get("required", ())]
        others = list(form.get("patternProperties", {}).values())
        return [*named, others] if form.get("minProperties", 0) > len(named) else named
    return []


def _without_impossible(form: Form, possible: set[str]) -> Form:
    def inner(value: Form) -> Form:
        return _without_impossible(value, possible) if _is_possible(value, possible) else False

    form = with_inner(form, inner)
    if isinstance(form, bool):
        return form
    if "anyOf" in form:
        options = [option for option in form["anyOf"] if option is not False]
        return options[0] if len(options) == 1 else {"anyOf": options}
    if form.get("type") == "array":
        before = form.pop("prefixItems", [])
        length = before.index(False) if False in before else len(before)
        if length:
            form["prefixItems"] = before[:length]
        if length < len(before) or form.get("items") is False:
            form.pop("items", None)
            form["maxItems"] = min(length, form.get("maxItems", length))
    return form


def _is_large(form: Form) -> bool:
    """Whether `form` has other forms in it, so that it is written once."""
    if isinstance(form, bool):
        return False
    return bool({"$ref", "anyOf"} & form.keys()) or form.get("type") in {"array", "object"} or "enum" in form


def _with_small(form: Form, small: dict[str, Form]) -> Form:
    if isinstance(form, dict) and "$ref" in form:
        return small.get(_name(form), form)
    return with_inner(form, lambda inner: _with_small(inner, small))


def _used(root: str, forms: dict[str, Form]) -> set[str]:
    used: set[str] = set()
    waiting = [forms[root]]

    def look(form: Form) -> Form:
        if isinstance(form, dict) and "$ref" in form:
            if _name(form) not in used:
                used.add(_name(form))
                waiting.append(forms[_name(form)])
            return form
        return with_inner(form, look)

    while waiting:
        look(waiting.pop())
    return used


def with_inner(form: Form, change: Callable[[Form], Form]) -> Form:
    """A copy of `form` with `change` made to the forms directly in it."""
    if isinstance(form, bool):
        return form
    changed = dict(form)
    for keyword in ("anyOf", "prefixItems"):
        if keyword in form:
            changed[keyword] = [change(inner) for inner in form[keyword]]
    for keyword in ("properties", "patternProperties"):
        if keyword in form:
            changed[keyword] = {name: change(inner) for name, inner in form[keyword].items()}
    if "items" in form:
        changed["items"] = change(form["items"])
    return changed


def _name(form: dict[str, Any]) -> str:
    return str(form["$ref"]).removeprefix(_REFERENCE)
