"""The edit commands in bytes: what the editor is asked to change, and what changes nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.edit_desk import Desk
from tests.support.edit_wire import (
    CODE,
    DOCUMENT,
    NAMES,
    REWRITE,
    SHOW,
    URI,
    at,
    carry_out,
    order,
    refused,
)
from tests.support.wire import Message, Wire


def test_a_passage_is_rewritten(editor: Wire, desk: Desk) -> None:
    new = "total = 0\nfor item in items:\n    if item:\n        total += item.price"
    desk.call("Rename result.", "replace", code=new)
    editor.open(URI, CODE)
    number = order(editor, "edit", at(1, 0, 4, 0), "Rename result")
    text = carry_out(editor, CODE)
    assert text == (
        "def total(items):\n    total = 0\n    for item in items:\n        if item:\n"
        "            total += item.price\n    return result\n"
    )
    assert editor.result(number) == {"applied": True, "text": "Edited."}
    [asked] = desk.log()
    old = "result = 0\nfor item in items:\n    result += item.price"
    assert json.dumps({"name": "replace", "arguments": {"code": old}}) in asked["prompt"]
    assert asked["prompt"].startswith("<user>Rewrite this Python code. Rename result.")
    assert asked["special"] is True
    assert asked["speculate"] is True
    kind, source = asked["grammar"]
    assert kind == "json_schema"
    assert json.loads(source)["properties"]["name"] == {"const": "replace"}


def test_progress_is_told(editor: Wire, desk: Desk) -> None:
    desk.call(REWRITE, "replace", code="return 2")
    editor.open(URI, "def f():\n    return 1\n")
    number = order(editor, "edit", at(1, 4), "Return 2")
    carry_out(editor, "def f():\n    return 1\n")
    editor.result(number)
    kinds = []
    while kinds[-1:] != ["end"]:
        kinds.append(editor.notification("$/progress")["value"]["kind"])
    assert kinds[0] == "begin"


def test_code_is_inserted_on_a_blank_line(editor: Wire, desk: Desk) -> None:
    text = "def f(a):\n    \n    return b\n"
    desk.call("<here>", "insert", code="b = a\nb += 1")
    editor.open(URI, text)
    number = order(editor, "edit", at(1, 4), "Define b")
    assert carry_out(editor, text) == "def f(a):\n    b = a\n    b += 1\n    return b\n"
    assert editor.result(number)["text"] == "Inserted."
    [asked] = desk.log()
    assert "def f(a):\n<here>\n    return b" in asked["prompt"]


def test_line_ends_tabs_and_wide_characters_stay(editor: Wire, desk: Desk) -> None:
    uri = "file:///project/example.go"
    text = 'package m\r\n\r\nfunc F() {\r\n\ts := "😀"; x := 1\r\n\tif x > 0 {\r\n\t\tg(s)\r\n\t}\r\n}\r\n'
    desk.call("Log it.", "replace", code="if x > 0 {\n    log(s)\n    g(s)\n}")
    editor.open(uri, text, "go")
    number = order(editor, "edit", at(4, 1), "Log it", uri)
    new = carry_out(editor, text, uri=uri)
    assert new == text.replace("\t\tg(s)", "\t\tlog(s)\r\n\t\tg(s)")
    assert editor.result(number)["applied"] is True
    desk.call(NAMES, "rename", names=["count", "other", "third"])
    number = order(editor, "rename-suggest", at(3, 12), uri=uri)
    newer = carry_out(editor, new, version=3, uri=uri)
    assert newer == new.replace("x := 1", "count := 1").replace("if x", "if count")
    assert editor.result(number)["text"] == "Renamed x to count, in 2 places."


def test_part_of_a_line_is_rewritten(editor: Wire, desk: Desk) -> None:
    desk.call(REWRITE, "replace", code="```python\nitem.price * item.count\n```")
    editor.open(URI, CODE)
    number = order(editor, "edit", at(3, 18, 3, 28), "Mind the count")
    assert carry_out(editor, CODE) == CODE.replace("item.price", "item.price * item.count")
    assert editor.result(number)["applied"] is True


def test_a_function_is_documented(editor: Wire, desk: Desk) -> None:
    said = {"summary": "total() - adds up the\nprices", "parameters": {"items": 'have a """price"""'}}
    desk.call(DOCUMENT, "document", **said, returns="The sum\\u2028.")
    editor.open(URI, CODE)
    number = order(editor, "docstring", at(2, 5))
    new = carry_out(editor, CODE)
    assert new == CODE.replace(
        ":\n    result = 0",
        ":\n    \"\"\"Adds up the prices.\n\n    Args:\n        items: have a '''price'''.\n\n"
        '    Returns:\n        The sum\\\\u2028.\n    """\n    result = 0',
    )
    assert editor.result(number) == {"applied": True, "text": "Documented total."}
    [asked] = desk.log()
    arguments = json.loads(asked["grammar"][1])["properties"]["arguments"]["properties"]
    assert list(arguments["parameters"]["properties"]) == ["items"]
    desk.call(DOCUMENT, "document", summary="Sums prices.", parameters={"items": ""})
    number = order(editor, "docstring", at(0, 0))
    assert carry_out(editor, new, version=3) == CODE.replace(
        ":\n    r", ':\n    """Sums prices."""\n    r', 1
    )
    assert editor.result(number)["applied"] is True


def test_the_first_usable_name_is_taken(editor: Wire, desk: Desk) -> None:
    desk.call(NAMES, "rename", names=["items", "class", "total_price"])
    editor.open(URI, CODE)
    number = order(editor, "rename-suggest", at(1, 6))
    assert carry_out(editor, CODE) == CODE.replace("result", "total_price")
    assert editor.result(number) == {"applied": True, "text": "Renamed result to total_price, in 3 places."}


@pytest.mark.parametrize(
    ("command", "where", "answer", "reason"),
    [
        ("edit", at(1, 4), '{"name": "replace", "argu', "The model's answer is no call."),
        ("edit", at(1, 4), {"code": " \n"}, "The model's code is empty."),
        ("edit", at(1, 4), {"code": "result = 0"}, "The model would leave everything as it is."),
        ("edit", at(1, 4), {"code": "result = ("}, "With the model's text the file would no longer parse."),
        ("edit", at(1, 4), {"code": "if x:\npass"}, "With the model's text the file would no longer parse."),
        ("edit", at(1, 4), {"code": "x = 1\n" * 500}, "The model's code is far longer than the selection."),
        ("docstring", at(5, 0), {}, "There is no function with a name at the cursor."),
        ("docstring", at(1, 0), {"summary": "..."}, "The model said nothing of the function."),
        ("docstring", at(1, 0), {"summary": "total"}, "The model said nothing of the function."),
        ("docstring", at(1, 0), {"summary": "the list " * 6}, "The model said nothing of the function."),
        ("rename-suggest", at(2, 4), {}, "There is no name at the cursor."),
        (
            "rename-suggest",
            at(1, 5),
            {"names": ["result", "items", "for"]},
            "No usable name for result: the model suggested result, items, for.",
        ),
    ],
)
def test_what_does_not_apply_changes_nothing(
    editor: Wire, desk: Desk, command: str, where: Message, answer: Any, reason: str
) -> None:
    if isinstance(answer, str):
        desk.answer("", answer)
    else:
        desk.call("", "any", **answer)
    editor.open(URI, CODE)
    assert refused(editor, order(editor, command, where, "Do it")) == reason
    assert editor.call("velospec/text", {"uri": URI}) == CODE


def test_an_answer_that_was_cut_off_changes_nothing(editor: Wire, desk: Desk) -> None:
    desk.answer(REWRITE, json.dumps({"name": "replace", "arguments": {"code": "x"}}), finish="length")
    editor.open(URI, CODE)
    reason = refused(editor, order(editor, "edit", at(1, 4), "Do it"))
    assert reason == "The model's answer became too long and was cut off."


def test_a_name_that_others_use_is_suggested_only(editor: Wire, desk: Desk) -> None:
    desk.call(NAMES, "rename", names=["sum_of_prices", "x", "y"])
    editor.open(URI, CODE)
    number = order(editor, "rename-suggest", at(0, 6))
    result = editor.result(number)
    assert result["suggestion"] == "sum_of_prices"
    assert result["reason"] == (
        "total could be called sum_of_prices, but it is not renamed here: other files may use it."
    )
    assert editor.notification(SHOW)["message"] == f"VeloSpec: {result['reason']}"
