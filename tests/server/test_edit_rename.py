"""Which occurrences are one variable: renamed where that is certain, refused where it is not."""

from __future__ import annotations

import pytest

from velospec_lsp.documents import Document
from velospec_lsp.editing.rename import NotProvenError, is_fresh, occurrences, rename, symbol_at
from velospec_lsp.editing.source import Source, apply_changes
from velospec_lsp.encoding import PositionEncoding
from velospec_lsp.syntax import Syntax
from velospec_lsp.text import Text


def renamed(language: str, marked: str) -> str:
    """`marked` with the variable before the mark ¦ called `fresh`. Raises NotProvenError."""
    at, text = marked.index("¦"), marked.replace("¦", "")
    source = Source.of(Document("file:///x", language, 1, Text.of(text), PositionEncoding.UTF16))
    syntax = Syntax(language, text)
    assert syntax.errors == 0
    symbol = symbol_at(source, syntax, at)
    assert symbol is not None
    changes = rename(syntax, language, occurrences(source, syntax, symbol), "fresh")
    after = apply_changes(text, changes)
    assert Syntax(language, after).errors == 0
    return after


CERTAIN = [
    (
        "python",
        "def f():\n    x¦ = 1\n    return g(x=x) + o.x + len(f'{x}')\nx = 2\n",
        "def f():\n    fresh = 1\n    return g(x=fresh) + o.x + len(f'{fresh}')\nx = 2\n",
    ),
    (
        "python",
        "def f(xs):\n    return [x¦ for x in xs if x]\n",
        "def f(xs):\n    return [fresh for fresh in xs if fresh]\n",
    ),
    (
        "python",
        "def f():\n    a = 1\n    def g():\n        return a¦\n    return g\n",
        "def f():\n    fresh = 1\n    def g():\n        return fresh\n    return g\n",
    ),
    (
        "python",
        "def f():\n    a¦ = 1\n    def g(a):\n        return a\n    return a\n",
        "def f():\n    fresh = 1\n    def g(a):\n        return a\n    return fresh\n",
    ),
    ("python", "def _f(a¦, *b): return a\n", "def _f(fresh, *b): return fresh\n"),
    ("python", "def f(a¦, /, b): return a\n", "def f(fresh, /, b): return fresh\n"),
    ("python", "def f(*a¦): return a\n", "def f(*fresh): return fresh\n"),
    ("python", "_a¦ = 1\ndef f(): return _a\n", "fresh = 1\ndef f(): return fresh\n"),
    (
        "python",
        "with open(p) as (a, b):\n    pass\ndef f():\n    with g() as h¦: return h\n",
        "with open(p) as (a, b):\n    pass\ndef f():\n    with g() as fresh: return fresh\n",
    ),
    (
        "javascript",
        "function f(a¦, b) { return { a, b: o.a } }\n",
        "function f(fresh, b) { return { a: fresh, b: o.a } }\n",
    ),
    (
        "javascript",
        "function f(o) { const { x¦, y = 1 } = o; { let x = 2; g(x) } return x }\n",
        "function f(o) { const { x: fresh, y = 1 } = o; { let x = 2; g(x) } return fresh }\n",
    ),
    (
        "python",
        "def f(z):\n    g([y¦ for x in z if (y := x)])\n    return y\n",
        "def f(z):\n    g([fresh for x in z if (fresh := x)])\n    return fresh\n",
    ),
    (
        "javascript",
        "function f(a) { for (var x¦ of a) g(x); return x }\n",
        "function f(a) { for (var fresh of a) g(fresh); return fresh }\n",
    ),
    (
        "javascript",
        "function f(a) { if (a) { function h¦() {} } return h() }\n",
        "function f(a) { if (a) { function fresh() {} } return fresh() }\n",
    ),
    (
        "javascript",
        "function f(a) { if (a) { var x = 1 } return x¦ }\n",
        "function f(a) { if (a) { var fresh = 1 } return fresh }\n",
    ),
    (
        "javascript",
        "export const a = 1; const k¦ = 2; f(() => k)\n",
        "export const a = 1; const fresh = 2; f(() => fresh)\n",
    ),
    (
        "typescriptreact",
        "export const C = ({ n¦ }: P) => <b a={n}>{n}</b>;\n",
        "export const C = ({ n: fresh }: P) => <b a={fresh}>{fresh}</b>;\n",
    ),
    (
        "go",
        "package m\nfunc F() T {\n\tx¦, e := g()\n\tif x := x; e {\n\t\treturn x\n\t}\n\treturn x\n}\n",
        (
            "package m\nfunc F() T {\n\tfresh, e := g()\n\tif fresh := fresh; e {\n\t\treturn fresh\n\t}\n"
            "\treturn fresh\n}\n"
        ),
    ),
    (
        "rust",
        "fn f(x¦: i32) -> S { let x = x + 1; assert_eq!(x, o.x); S { x } }\n",
        "fn f(fresh: i32) -> S { let fresh = fresh + 1; assert_eq!(fresh, o.x); S { x: fresh } }\n",
    ),
    (
        "rust",
        "fn f(o: P) -> i32 { let P { x¦, .. } = o; x }\n",
        "fn f(o: P) -> i32 { let P { x: fresh, .. } = o; fresh }\n",
    ),
    (
        "java",
        "class A { int a; int f(int a¦) { return this.a + a + a(a); } }\n",
        "class A { int a; int f(int fresh) { return this.a + fresh + a(fresh); } }\n",
    ),
    (
        "c",
        "static int h¦(int a) { return a; }\nint g(void) { return h(1); }\n",
        "static int fresh(int a) { return a; }\nint g(void) { return fresh(1); }\n",
    ),
    (
        "c",
        "int f(int *a) { for (int i¦ = 0; i < 2; i++) a->i = i; return 0; }\n",
        "int f(int *a) { for (int fresh = 0; fresh < 2; fresh++) a->i = fresh; return 0; }\n",
    ),
    (
        "cpp",
        "int f(const T& a¦) { auto l = [&a](int q) { return a + q; }; return N::a + l(a); }\n",
        "int f(const T& fresh) { auto l = [&fresh](int q) { return fresh + q; }; return N::a + l(fresh); }\n",
    ),
]


@pytest.mark.parametrize(("language", "before", "after"), CERTAIN)
def test_what_is_certain_is_renamed(language: str, before: str, after: str) -> None:
    assert renamed(language, before) == after


UNCERTAIN = [
    ("python", "def f(a¦): return a\n", "callers may pass it by its name"),
    ("python", "def _f(a¦): return a\n_f(a=1)\n", "callers may pass it by its name"),
    ("python", "def f¦(): return 1\n", "other files may use it"),
    ("python", "_a¦ = 1\n__all__ = ['_a']\n", "other files may use it"),
    ("python", "_a¦ = 1\ndef f(_a): return _a\n", "a variable in this file has the same name"),
    ("python", "def f():\n    global g\n    g¦ = 1\n", "it is imported, exported"),
    ("python", "from m import n\ndef f(): return n¦\n", "it is not declared in this file"),
    ("python", "class A:\n    n¦ = 1\n", "it is a member"),
    ("python", "def f(s): return s.n¦\n", "it is a member or a type"),
    ("python", "def f():\n    x¦ = 1\n    return locals()\n", "can reach variables by their names"),
    ("python", "def f():\n    a¦ = 1\n    class B:\n        a = 2\n    return a\n", "a class in its scope"),
    ("python", "def _f(x): return [x¦ for x in x]\n", "another variable of that name is used"),
    (
        "python",
        "def f():\n    match o:\n        case {'k': v}: return v¦\n    v = 1\n",
        "it is imported, exported",
    ),
    ("javascript", "const k¦ = 2; f(k)\n", "other files may use it"),
    ("javascript", "const k¦ = 2; export { k }\n", "it is imported, exported"),
    ("typescript", "class A { constructor(private n¦: number) {} }\n", "it is imported, exported"),
    ("go", "package m\nfunc F() T {\n\tx¦ := 1\n\treturn T{x: x}\n}\n", "it is imported, exported"),
    ("go", "package m\nfunc F() int {\n\terr¦ := err\n\treturn err\n}\n", "another variable of that name"),
    ("rust", 'fn f() { let x¦ = 1; println!("{x}"); }\n', "a macro uses it"),
    ("rust", "fn f(o: P) { let P { ref x¦, .. } = o; g(x) }\n", "a pattern takes it from a field"),
    ("java", "class A { int n¦; int f() { return n; } }\n", "it is a member"),
    ("c", "int h¦(int a) { return a; }\n", "other files may use it"),
    ("c", "#define M(a) (a + r)\nint f(void) { int r¦ = 1; return M(2); }\n", "a macro uses it"),
    ("c", "int f(void) { { use(x); int x¦ = 1; use(x); } return 0; }\n", "it is used before it is declared"),
]


@pytest.mark.parametrize(("language", "text", "reason"), UNCERTAIN)
def test_what_is_not_certain_is_refused(language: str, text: str, reason: str) -> None:
    with pytest.raises(NotProvenError, match=reason):
        renamed(language, text)


def test_a_name_is_fresh_where_only_words_mention_it() -> None:
    syntax = Syntax("c", 'size_t f(int a) { /* total */ return g("total") + s.member; }')
    assert is_fresh(syntax, "total")
    assert not any(is_fresh(syntax, name) for name in ("f", "a", "g", "s", "member", "size_t", "return"))
