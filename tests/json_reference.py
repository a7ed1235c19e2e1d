"""The functions of JSON one document at a time, as DataFusion's crate has them: values
are found in the text and given as they are written there. What Spark's expressions give
is compared with this."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from random import Random

_BLANKS = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_WORD = re.compile(r'[^\s"\[\]{},:]')
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


@dataclass
class Node:
    """A value: its text, and what is in it."""

    text: str
    members: list[tuple[str, Node]] = field(default_factory=list)
    items: list[Node] = field(default_factory=list)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def blanks(self) -> None:
        self.at = _BLANKS.match(self.text, self.at).end()

    def took(self, mark: str) -> bool:
        self.blanks()
        found = self.text.startswith(mark, self.at)
        self.at += len(mark) * found
        return found

    def need(self, mark: str) -> None:
        if not self.took(mark):
            raise ValueError(mark)

    def string(self) -> str:
        self.blanks()
        found = _STRING.match(self.text, self.at)
        if found is None:
            raise ValueError("string")
        self.at = found.end()
        text = json.loads(found[0])
        text.encode()  # half a surrogate pair is none
        return text

    def need_end(self) -> None:
        """007 is not a number and something behind it, as truth is not true."""
        if _WORD.match(self.text, self.at):
            raise ValueError("value")

    def value(self) -> Node:
        self.blanks()
        start, node = self.at, Node("")
        if self.took("{"):
            while not self.took("}"):
                if node.members:
                    self.need(",")
                name = self.string()
                self.need(":")
                node.members.append((name, self.value()))
        elif self.took("["):
            while not self.took("]"):
                if node.items:
                    self.need(",")
                node.items.append(self.value())
        elif self.text.startswith('"', self.at):
            self.string()
        elif found := _NUMBER.match(self.text, self.at):
            self.at = found.end()
            self.need_end()
        elif any(self.took(word) for word in ("true", "false", "null")):
            self.need_end()
        else:
            raise ValueError("value")
        node.text = self.text[start : self.at]
        return node

    def step_to(self, step: str | int) -> bool:
        """Go to the value of a member or to an element, and no further."""
        if not self.took("{" if isinstance(step, str) else "["):
            return False
        end, first = "}" if isinstance(step, str) else "]", True
        while not self.took(end):
            if not first:
                self.need(",")
            if isinstance(step, str):
                name = self.string()
                self.need(":")
                if name == step:
                    return True
            elif step == 0:
                return True
            else:
                step -= 1
            self.value()
            first = False
        return False

    def begins_value(self) -> bool:
        self.blanks()
        return self.text[self.at : self.at + 1] in tuple('{["tfn-0123456789')


BROKEN = Node("")
"""A value that is there, and cannot be read."""


def find(text: str | None, path: list[str | int]) -> Node | None:
    """The value at a path, whatever stands behind it: of members of one name the first;
    None: there is none."""
    if text is None:
        return None
    reader = _Reader(text)
    try:
        is_there = all(reader.begins_value() and reader.step_to(s) for s in path)
    except (ValueError, UnicodeEncodeError):
        return None
    if not is_there or not reader.begins_value():
        return None
    try:
        return reader.value()
    except (ValueError, UnicodeEncodeError):
        return BROKEN


def whole(text: str | None) -> Node | None:
    """The document, where it is one to its end."""
    found = find(text, [])
    return None if found is BROKEN else found


def _string(text: str) -> str | None:
    return json.loads(text, strict=False) if text.startswith('"') else None


def _whole(text: str) -> int | None:
    number = int(text) if re.fullmatch("-?[0-9]+", text) else None
    return number if number is not None and -(2**63) <= number < 2**63 else None


def _length(node: Node) -> int | None:
    if node.text.startswith("{"):
        return len(node.members)
    return len(node.items) if node.text.startswith("[") else None


def _names(node: Node) -> list[str] | None:
    is_object = node.text.startswith("{")
    return [name for name, _ in node.members] if is_object else None


FUNCTIONS = {
    "json_get": lambda n: None if n.text == "null" else n.text,
    "json_as_text": lambda n: (
        None if n.text == "null" else n.text if n.text[0] != '"' else _string(n.text)
    ),
    "json_get_str": lambda n: _string(n.text),
    "json_get_int": lambda n: _whole(n.text),
    "json_get_float": lambda n: float(n.text) if _NUMBER.match(n.text) else None,
    "json_get_bool": lambda n: {"true": True, "false": False}.get(n.text),
    "json_get_json": lambda n: n.text,
    "json_length": _length,
    "json_object_keys": _names,
}
"""What a function makes of the value that is at its path."""


def selected(text: str | None, steps: list[list[object]]) -> list[str] | None:
    """The values at a JSONPath, whose steps are names, indices, slices, or ... for all;
    without blanks."""
    root = whole(text)
    if root is None or root.text == "null":
        return None
    nodes = [root]
    for selectors in steps:
        nodes = [n for node in nodes for s in selectors for n in _children(node, s)]
    return [_STRING_OR_BLANKS.sub(lambda f: f[1] or "", node.text) for node in nodes]


_STRING_OR_BLANKS = re.compile(rf"({_STRING.pattern})|[ \t\r\n]+", re.DOTALL)


def _children(node: Node, selector: object) -> list[Node]:
    match selector:
        case str():
            return [value for name, value in node.members if name == selector][:1]
        case int():
            fits = -len(node.items) <= selector < len(node.items)
            return [node.items[selector]] if fits else []
        case slice():
            return node.items[selector]
        case _:
            return [*node.items, *(value for _, value in node.members)]


def called(function: str, text: str | None, path: list[str | int]) -> object:
    """The result of a function."""
    node = find(text, path)
    if function == "json_contains":
        return node is not None
    return None if node is None or node is BROKEN else FUNCTIONS[function](node)


NAMES = ("a", "b", "id", "a b", "n.m", "é", 'x"y', "it's", "")
_SCALARS = (
    *("0", "1", "-7", "-0", "155", "1.0", "1.50", "-2.5e3", "1e2", "1E-7", "0.10"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808"),
    *("123456789012345678901234567890", "0.1234567890123456789", "1e400"),
    *("true", "false", "null"),
)
_TEXTS = (
    *("", "x", "155", "-1", "1.50", "0", "true", "null", "{}", "[1]", '{"a":1}'),
    *("it's", "café", "😀", 'say "a": 1', '"a"', '"', "\\", "a/b", "tab\t", "line\n"),
    *("a", "id", "Infinity", "{", "-"),
)


def random_document(random: Random) -> str:
    """A document, or what is almost one."""
    blanks = random.choice(("", "", " ", "py", "\n\t"))
    text = _value(random, random.choice((1, 2, 3)), blanks)
    kind = random.random()
    if kind < 0.06:
        return text[: random.randrange(len(text) + 1)]
    if kind < 0.12:  # something in it is another character
        at = random.randrange(len(text) + 1)
        return text[:at] + random.choice("]}[{,:x\t'\"1\\") + text[at + 1 :]
    kind -= 0.09
    if kind < 0.05:
        return text.replace('"', "'")
    if kind < 0.07:
        return text + random.choice((" ", "}", " x", text, '"'))
    if kind < 0.09:
        return "\n " + text
    if kind < 0.1:
        return random.choice(("", " ", "007", "{'a':1}", '{"a":NaN}', "[1,]", "nul"))
    return text


def _value(random: Random, depth: int, blanks: str) -> str:
    comma, colon, pad = (
        (", ", ": ", "")
        if blanks == "py"
        else (f",{blanks}", f"{blanks}:{blanks}", blanks)
    )
    if depth and random.random() < 0.8:
        count = random.randrange(4)
        values = [_value(random, depth - 1, blanks) for _ in range(count)]
        if random.random() < 0.35:
            return f"[{pad}{comma.join(values)}{pad}]"
        names = (_text(random, _name(random)) for _ in values)
        pairs = map(colon.join, zip(names, values, strict=True))
        return f"{{{pad}{comma.join(pairs)}{pad}}}"
    if random.random() < 0.5:
        return random.choice(_SCALARS)
    return _text(random, random.choice(_TEXTS))


def _name(random: Random) -> str:
    return random.choice(NAMES if random.random() < 0.4 else NAMES[:3])


def _text(random: Random, text: str) -> str:
    """A text in one of its forms."""
    kind = random.random()
    if kind < 0.03:
        return '"' + "".join(f"\\u{ord(c):04x}" for c in text if ord(c) < 2**16) + '"'
    written = json.dumps(text, ensure_ascii=kind < 0.5)
    if kind > 0.97:  # what no text has
        return written.replace(" ", "\t").replace("a", "a\n")
    return written.replace("/", "\\/") if kind < 0.1 else written
