"""The size budget: files and functions stay short enough to be read in one go."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable
from pathlib import Path

from tests.support.repository import all_python_files, relative, shipped_modules

FILE_MOST, FILE_P95 = 400, 270
FUNCTION_MOST, FUNCTION_P95 = 80, 40
POSITIONAL_MOST = 5

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(file: Path) -> Iterable[Function]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def length(function: Function) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def p95(sizes: Iterable[int]) -> int:
    ordered = sorted(sizes)
    return ordered[math.ceil(0.95 * len(ordered)) - 1]


def file_length(file: Path) -> int:
    return len(file.read_text(encoding="utf-8").splitlines())


def test_no_file_is_too_long() -> None:
    long = {relative(file): file_length(file) for file in all_python_files() if file_length(file) > FILE_MOST}
    assert long == {}


def test_files_are_short_as_a_rule() -> None:
    assert p95(map(file_length, shipped_modules())) <= FILE_P95


def test_no_function_is_too_long() -> None:
    long = {
        f"{relative(file)}:{function.name}": length(function)
        for file in all_python_files()
        for function in functions(file)
        if length(function) > FUNCTION_MOST
    }
    assert long == {}


def test_functions_are_short_as_a_rule() -> None:
    assert p95(length(function) for file in shipped_modules() for function in functions(file)) <= FUNCTION_P95


def test_no_function_takes_too_many_positional_parameters() -> None:
    """`self` and `cls` do not count; parameters that must be named may be more, and Triton names none."""
    many = {}
    for file in shipped_modules():
        for function in functions(file):
            taken = [*function.args.posonlyargs, *function.args.args]
            count = len([parameter for parameter in taken if parameter.arg not in {"self", "cls"}])
            if count > POSITIONAL_MOST and "tl.constexpr" not in ast.unparse(function.args):
                many[f"{relative(file)}:{function.name}"] = count
    assert many == {}
