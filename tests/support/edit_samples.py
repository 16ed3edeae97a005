"""Twenty functions in eight languages: in each a line to rewrite and a name to change."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent


@dataclass(frozen=True, slots=True)
class Sample:
    """`old` is one line of `text` without its indentation, `new` what it becomes.

    `name` is renamed to `fresh`; `at` is a text that ends with it, where the cursor stands. `function` is the
    function that is documented.
    """

    file: str
    text: str
    function: str
    old: str
    new: str
    at: str
    name: str
    fresh: str
    language: str
    parameters: tuple[str, ...] = ()


def _sample(  # noqa: PLR0917  # a table's columns
    file: str, text: str, function: str, old: str, new: str, at: str, name: str, fresh: str, *parameters: str
) -> Sample:
    language = {"py": "python", "js": "javascript", "ts": "typescript", "rs": "rust", "h": "c"}
    ending = file.rpartition(".")[2]
    return Sample(
        file, dedent(text).lstrip("\n"), function, old, new, at, name, fresh,
        language.get(ending, ending), parameters,
    )  # fmt: skip


SAMPLES = (
    _sample(
        "total.py",
        """
        def total(items):
            result = 0
            for item in items:
                result += item.price
            return result
        """,
        "total", "result += item.price", "result += item.price * item.count",
        "    result", "result", "total_price", "items",
    ),
    _sample(
        "reader.py",
        """
        import json


        class Reader:
            \"\"\"Reads settings.\"\"\"

            @classmethod
            async def read(cls, path, *, strict=False):
                # The file may be missing.
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                return json.loads(text, strict=strict)
        """,
        "read", "text = file.read()", "text = file.read().strip()",
        "text = file", "file", "stream", "path", "strict",
    ),
    _sample(
        "words.py",
        """
        def count(text: str) -> dict[str, int]:
            \"\"\"Count.

            Old words.
            \"\"\"
            found: dict[str, int] = {}
            for w in text.split():
                found[w] = found.get(w, 0) + 1
            return {w: n for w, n in found.items() if n > 1}
        """,
        "count", "found[w] = found.get(w, 0) + 1", "found[w] = 1 + found.get(w, 0)",
        "    found", "found", "word_counts", "text",
    ),
    _sample(
        "short.py",
        """
        def outer(values):
            def scale(x): return 2 * x
            return [scale(value) for value in values]
        """,
        "scale", "return [scale(value) for value in values]", "return [scale(each) for each in values]",
        "return 2 * x", "x", "amount", "x",
    ),
    _sample(
        "umlaut.py",
        """
        def grüße(namen):
            größe = len(namen)  # 😀
            text = "é😀" * größe
            return f"{text} {größe}"
        """,
        "grüße", 'return f"{text} {größe}"', 'return f"{größe}: {text}"',
        '"é😀" * größe', "größe", "name_count", "namen",
    ),
    _sample(
        "sum.js",
        """
        export function sum(values, { start = 0 } = {}) {
          let acc = start;
          for (const v of values) {
            acc += v;
          }
          return { acc, count: values.length };
        }
        """,
        "sum", "acc += v;", "acc += Number(v);",
        "let acc", "acc", "runningTotal", "values",
    ),
    _sample(
        "load.js",
        """
        /**
         * Old.
         */
        export const load = async (url) => {
          const r = await fetch(url);
          if (!r.ok) throw new Error(r.statusText);
          return r.json();
        };
        """,
        "load", "return r.json();", "return await r.json();",
        "const r", "r", "response", "url",
    ),
    _sample(
        "queue.ts",
        """
        export class Queue<T> {
        \tprivate items: T[] = [];

        \tpush(item: T): number {
        \t\tconst n = this.items.push(item);
        \t\treturn n;
        \t}
        }
        """,
        "push", "return n;", "return n - 1;",
        "const n", "n", "newLength", "item",
    ),
    _sample(
        "pick.ts",
        """
        export function pick<T>(list: readonly T[], test: (x: T) => boolean): T | undefined {
          for (let i = 0; i < list.length; i++) {
            if (test(list[i])) return list[i];
          }
          return undefined;
        }
        """,
        "pick", "return undefined;", "return list.find(() => false);",
        "let i", "i", "index", "list", "test",
    ),
    _sample(
        "sum.go",
        """
        package m

        // Sum is old.
        func Sum(values []int) (int, error) {
        \tt := 0
        \tfor _, v := range values {
        \t\tt += v
        \t}
        \treturn t, nil
        }
        """,
        "Sum", "t += v", "t += 2 * v",
        "\tt", "t", "total", "values",
    ),
    _sample(
        "open.go",
        """
        package m

        import "os"

        func (c *Config) Open(path string) error {
        \tf, err := os.Open(path)
        \tif err != nil {
        \t\treturn err
        \t}
        \tdefer f.Close()
        \treturn c.read(f)
        }
        """,
        "Open", "return c.read(f)", "return c.readAll(f)",
        "\tf", "f", "file", "path",
    ),
    _sample(
        "max.rs",
        """
        impl Stack {
            #[inline]
            pub fn max(&self, limit: usize) -> usize {
                let mut m = 0;
                for x in &self.items {
                    m = m.max(*x);
                }
                println!("{}", m);
                m.min(limit)
            }
        }
        """,
        "max", "m.min(limit)", "std::cmp::min(m, limit)",
        "let mut m", "m", "largest", "limit",
    ),
    _sample(
        "split.rs",
        """
        /// Old.
        fn split(text: &str) -> Vec<String> {
            let parts = text.split(',');
            let parts = parts.map(str::trim);
            parts.map(String::from).collect()
        }
        """,
        "split", "let parts = parts.map(str::trim);", "let parts = parts.map(str::trim_start);",
        "let parts", "parts", "pieces", "text",
    ),
    _sample(
        "Area.java",
        """
        class Area {
            private int w;

            /** Old. */
            @Override
            public int area(final int w, int h) {
                int a = this.w + w;
                return a * h;
            }
        }
        """,
        "area", "return a * h;", "return Math.multiplyExact(a, h);",
        "        int a", "a", "width", "w", "h",
    ),
    _sample(
        "Names.java",
        """
        class Names {
            String join(java.util.List<String> names) {
                StringBuilder b = new StringBuilder();
                for (String n : names) {
                    b.append(n);
                }
                return b.toString();
            }
        }
        """,
        "join", "b.append(n);", "b.append(n).append(',');",
        "StringBuilder b", "b", "builder", "names",
    ),
    _sample(
        "length.c",
        """
        #include <stddef.h>

        static size_t length(const char *s)
        {
            size_t n = 0;
            while (s[n] != 0)
                n++;
            return n;
        }
        """,
        "length", "n++;", "n += 1;",
        "size_t n", "n", "count", "s",
    ),
    _sample(
        "swap.c",
        """
        /* Not a documentation. */
        void swap(int *a, int *b)
        {
            int t = *a;
            *a = *b;
            *b = t;
        }
        """,
        "swap", "*b = t;", "b[0] = t;",
        "int t", "t", "saved", "a", "b",
    ),
    _sample(
        "mean.cpp",
        """
        #include <vector>

        template <typename T>
        T mean(const std::vector<T>& values) {
            T s{};
            for (auto& v : values) {
                s += v;
            }
            return s / values.size();
        }
        """,
        "mean", "s += v;", "s = s + v;",
        "T s", "s", "sum", "values",
    ),
    _sample(
        "find.cpp",
        """
        class Tree {
          public:
            Node* find(int key) const {
                Node* at = root;
                auto less = [&at, key](int k) { return k < key && at; };
                while (at && less(at->key)) at = at->right;
                return at;
            }
        };
        """,
        "find", "return at;", "return at ? at : nullptr;",
        "Node* at", "at", "current", "key",
    ),
    _sample(
        "dos.py",
        """
        def clamp(value, low, high):\r
            v = min(value, high)\r
            return max(v, low)\r
        """,
        "clamp", "return max(v, low)", "return low if v < low else v",
        "    v", "v", "upper", "value", "low", "high",
    ),
)  # fmt: skip
