"""Syntax rules of Python: what the grammar asks for, then what the language's own conventions do."""

from __future__ import annotations

from velospec.proposers.syntax_rules.base import Language, Lexis, Rule

_PLAIN = r"([^\n:\[{]|\[[^\]\n]*\]|\{[^}\n]*\})*"  # a condition without a colon of its own
_PARAMETERS = r"([^\n:\[{]|[,(]^|\[[^\]\n]*\]|\{[^}\n]*\})*"  # the same, over several lines
_INDEXED = r"(List|Dict|Set|Tuple|Optional|Union|Callable|Iterable|Iterator|Sequence|Mapping|Type|Literal)"

_BLOCKS = (
    Rule(r"^(else|try|finally)", ":\n\t", 0.97),
    Rule(r"^(else|try|finally):", "\n\t", 0.97),
    Rule(rf"^(if|elif|for|while|with|except|match|case|async for|async with) {_PLAIN}:", "\n\t", 0.97),
    Rule(rf"^(async )?def {{name}}\({_PARAMETERS}(:{_PARAMETERS})*\)( -> {_PLAIN})?:", '\n\t"""', 0.65),
    Rule(rf"^class {{name}}(\({_PLAIN}\))?:", '\n\t"""', 0.62),
    Rule(r"^while True", ":\n\t", 0.9),
    Rule(r"^class {name}\({path}", "):\n\t", 0.43),
    Rule(r"^(if|elif|while) ([^\n]* )?not {path}", ":\n\t", 0.44),
    Rule(r"^(if|elif|while) [^\n]* in {path}", ":\n\t", 0.42),
    Rule(r"^(if|elif|while) [^\n]* is (not )?None", ":\n\t", 0.96),
    Rule(r"^(if|elif|while) [^\n]* (==|!=|<|>|<=|>=) \d+", ":\n\t", 0.82),
    Rule(r"^(if|elif) ([^\n]* )?(isinstance|callable|hasattr)\([^\n()]*\)", ":\n\t", 0.96),
    Rule(r"^for [^\n]* in (range|enumerate|zip|sorted|reversed)\([^\n()]*\)", ":\n\t", 0.95),
)

_STATEMENTS = (
    Rule(r"^raise {name}(Error|Exception)", '("', 0.46),
    Rule(r"^raise", " ValueError(", 0.29),
    Rule(r"^except {name}(Error|Exception)", " as e:\n\t", 0.22),
    Rule(r"^except {path}", ":\n\t", 0.57),
    Rule(r"^except {path} as {name}", ":\n\t", 0.95),
    Rule(r"^except \([^\n)]*\)", " as e:\n\t", 0.4),
    Rule(r"^with open", "(", 0.97),
    Rule(r"^with [^\n]*\)", " as ", 0.94),
    Rule(r"^with [^\n]*\) as {name}", ":\n\t", 0.91),
    Rule(r"^with self", ".assertRaises(", 0.5),
    Rule(r"^with pytest", ".raises(", 0.9),
    Rule(r"\basync", " def ", 0.43),
    Rule(r"^from {path}", " import ", 0.19),
    Rule(r"^from __future__", " import annotations\n", 0.54),
    Rule(r"^import (os|sys|re|json|math|random|time|logging|argparse|csv|asyncio|itertools)", "\n", 0.87),
    Rule(r"^import numpy", " as np\n", 0.95),
    Rule(r"^import pandas", " as pd\n", 0.95),
    Rule(r"^import matplotlib.pyplot", " as plt\n", 0.95),
    Rule(r"^import tensorflow", " as tf\n", 0.9),
    Rule(r"^import seaborn", " as sns\n", 0.95),
    Rule(r"^if __name", '__ == "__main__":\n\tmain()\n', 0.78),
    Rule(r"^if __", 'name__ == "__main__":\n\tmain()\n', 0.81),
)

_EXPRESSIONS = (
    Rule(r"\bfor {name}(, {name})*", " in ", 0.63),
    Rule(r"^for (i|j|k|_) in", " range(", 0.95),
    Rule(r"\bfor {name}, {name} in {path}", ".items():\n\t", 0.31),
    Rule(r"\bin {path}\.(items|keys|values)", "()", 0.9),
    Rule(r"^for [^\n]* in {path}\.(items|keys|values)\(\)", ":\n\t", 0.8),
    Rule(r"\b(len|range|enumerate|zip|isinstance|print|sorted|reversed|sum|min|max|abs|any|all)", "(", 0.71),
    Rule(r"\b(defaultdict|namedtuple|getattr|setattr|hasattr)", "(", 0.85),
    Rule(r"\.(append|extend|insert|join|split|format|get|startswith|endswith|replace|add)", "(", 0.5),
    Rule(r"\.(items|keys|values|strip|lower|upper|copy|popleft|close)", "()", 0.3),
    Rule(r"\bin range\(len", "(", 0.95),
    Rule(r"\bisinstance\({path}", ", ", 0.58),
    Rule(r"[ ([,=](key=)?lambda {name}(, {name})*", ": ", 0.72),
    Rule(r"\bis", " not None", 0.45),
    Rule(r"\bis not", " None", 0.94),
    Rule(r"\b(if|elif|while|and|or|assert|return) {path} not", " in ", 0.9),
    Rule(r"[[(][^\n]* for {name} in {path} if", " ", 0.5),
    Rule(r"^self", ".", 0.78),
    Rule(r"[ =[!<>+*/-]self", ".", 0.7),
    Rule(r"\b(return|print\(|=) ?f", '"', 0.85),
    Rule(r"\bsuper", "().__init__(", 0.9),
    Rule(r"\b(np|plt|pd|os|sys|math|json|random|logging|asyncio)", ".", 0.77),
    Rule(r"\bos.path", ".", 0.95),
    Rule(r"\blogging.getLogger", "(__name__)\n", 0.8),
    Rule(r"\bparser = argparse", ".ArgumentParser(", 0.9),
    Rule(r"^parser.add_argument", '("', 0.3),
    Rule(r"^args = parser", ".parse_args()\n", 0.9),
)

_DEFINITIONS = (
    Rule(r"\tdef {name}", "(self", 0.43),
    Rule(r"\tdef {name}\(self", "):\n\t", 0.56),
    Rule(r"\tdef __init", "__(self, ", 0.91),
    Rule(r"\tdef __(str|repr)", '__(self):\n\treturn f"', 0.84),
    Rule(r"\tdef __(len|iter|next|hash|bool)", "__(self):\n\treturn self.", 0.9),
    Rule(r"\tdef __(eq|ne|lt|le|gt|ge|add|sub|mul|truediv)", "__(self, other):\n\treturn ", 0.95),
    Rule(r"\tdef __getitem", "__(self, index):\n\treturn self.", 0.7),
    Rule(r"\tdef __setitem", "__(self, key, value):\n\tself.", 0.7),
    Rule(r"\tdef __contains", "__(self, item):\n\treturn item in self.", 0.97),
    Rule(r"\tdef __enter", "__(self):\n\treturn self\n", 0.83),
    Rule(r"\tdef __exit", "__(self, exc_type, exc_value, traceback):\n\tself.", 0.92),
    Rule(r"\tdef __new", "__(cls", 0.9),
    Rule(r"\tdef __call", "__(self, ", 0.8),
    Rule(r'^class [^\n]*:\t""', "\n\ndef __init__(self", 0.7),
    Rule(r'^def [^\n]*:\t""', "\n", 0.87),
    Rule(r"@classmethod", "\ndef ", 0.96),
    Rule(r"@classmethod\tdef {name}", "(cls, ", 0.67),
    Rule(r"@staticmethod", "\ndef ", 0.97),
    Rule(r"@property", "\ndef ", 0.97),
    Rule(r"@property\tdef {name}", "(self):\n\treturn self.", 0.64),
    Rule(r"\t@{name}\.setter", "\ndef ", 0.97),
    Rule(r"\t@{name}\.setter\tdef {name}", "(self, value):\n\t", 0.62),
    Rule(r"@abstractmethod", "\ndef ", 0.9),
    Rule(r"^@dataclass(\([^\n]*\))?", "\nclass ", 0.9),
    Rule(r"^@pytest.fixture(\([^\n]*\))?", "\ndef ", 0.8),
    Rule(r"\ndef main", "():\n\t", 0.8),
    Rule(r"^def {name}\([^\n]*: [^\n]*\)", " -> ", 0.95),
    Rule(r"\) -> (None|bool|int|str|float)", ":\n\t", 0.97),
    Rule(rf"[:>[(,] ?{_INDEXED}", "[", 0.61),
    Rule(r'^""', "\n", 0.6),
)

PYTHON = Language(
    name="python",
    rules=(*_BLOCKS, *_STATEMENTS, *_EXPRESSIONS, *_DEFINITIONS),
    lexis=Lexis(blocks=(('"""', '"""', True), ("'''", "'''", True)), line_comments=("#",), joining="()[]{}"),
)
