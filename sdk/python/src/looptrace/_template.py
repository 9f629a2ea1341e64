"""Renders the text of prompts, as the server and the UI do. The cases in test/conformance/templates.json hold all three
together. The syntax is that of Mustache without partials and HTML escapes."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

Missing = Literal["error", "keep", "empty"]

_MAX_SAFE = 2**53 - 1
_MAX_DEPTH = 50
# White space as Unicode has it. Python's own has the information separators U+001C to U+001F too.
_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_DELIMITERS = re.compile(f"=[{_SPACE}]*([^{_SPACE}=]+)[{_SPACE}]+([^{_SPACE}=]+)[{_SPACE}]*=")


class TemplateSyntaxError(ValueError):
    """An error in the text of a template. line and column are from 1."""

    def __init__(self, line: int, column: int, message: str) -> None:
        super().__init__(f"line {line}, column {column}: {message}")
        self.line = line
        self.column = column


class MissingVariablesError(ValueError):
    """Variables have no value. names are as in the tags, in order of appearance."""

    def __init__(self, names: list[str]) -> None:
        super().__init__("no value for " + ", ".join(names))
        self.names = names


@dataclass
class _Node:
    kind: str  # "t" text, "v" variable, "#" section, "^" inverted section
    text: str = ""
    path: list[str] = field(default_factory=list)
    source: str = ""
    children: list[_Node] = field(default_factory=list)


@dataclass
class _Tag:
    kind: str
    end: int
    name: str = ""
    path: list[str] = field(default_factory=list)


def render(text: str, variables: dict[str, Any], missing: Missing = "error") -> str:
    """Returns the text with the variables filled in. Texts are inserted as they are and never parsed; None is nothing,
    other values are JSON as in RFC 8785.

    Raises TemplateSyntaxError, MissingVariablesError, or TypeError for a value that is not JSON.
    """
    renderer = _Renderer(variables, missing)
    renderer.render(_parsed(text))
    if missing == "error" and renderer.absent:
        raise MissingVariablesError(renderer.absent)
    return "".join(renderer.out)


def check(text: str) -> None:
    """Raises TemplateSyntaxError if the text is no template."""
    _parsed(text)


def names(text: str) -> list[str]:
    """Returns the first parts of all names, in order of appearance, each once, also of those that items may have."""
    return [*dict.fromkeys(node.path[0] for node in _all(_parsed(text)) if node.path)]


# A program renders the same few texts again and again.
@lru_cache(maxsize=256)
def _parsed(text: str) -> list[_Node]:
    return _Parser(text).nodes("", 0)


def _all(nodes: list[_Node]) -> Iterator[_Node]:
    for node in nodes:
        yield node
        yield from _all(node.children)


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.open, self.close = "{{", "}}"
        self.depth = 0

    def fail(self, at: int, message: str) -> TemplateSyntaxError:
        before = self.text[:at]
        return TemplateSyntaxError(before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1, message)

    def nodes(self, section: str, start: int) -> list[_Node]:
        """Parses up to the tag that closes the section, or up to the end without one."""
        found: list[_Node] = []
        while True:
            begin = self.text.find(self.open, self.at)
            if begin < 0:
                if section:
                    raise self.fail(start, f"the section {section} is not closed")
                _append_text(found, self.text[self.at :])
                return found
            tag = self.tag(begin)
            text = self.text[self.at : begin]
            self.at = tag.end
            if tag.kind != "v":
                alone = self.alone(begin, tag.end)
                if alone is not None:
                    text = text.removesuffix(alone[0])
                    self.at = alone[1]
            _append_text(found, text)
            if tag.kind == "/":
                if tag.name != section:
                    if not section:
                        raise self.fail(begin, f"{tag.name} closes a section that is not open")
                    raise self.fail(begin, f"{tag.name} closes the section {section}")
                return found
            if tag.kind in "#^":
                self.depth += 1
                if self.depth > _MAX_DEPTH:
                    raise self.fail(begin, f"sections are nested more than {_MAX_DEPTH} deep")
                children = self.nodes(tag.name, begin)
                self.depth -= 1
                found.append(_Node(tag.kind, path=tag.path, source=self.text[begin : self.at], children=children))
            elif tag.kind == "v":
                found.append(_Node("v", path=tag.path, source=self.text[begin : tag.end]))

    def tag(self, begin: int) -> _Tag:
        inner, close = begin + len(self.open), self.close
        triple = self.open == "{{" and self.text.startswith("{", inner)
        if triple:
            inner, close = inner + 1, "}}}"
        stop = self.text.find(close, inner)
        if stop < 0:
            raise self.fail(begin, f"the tag is not closed; {close} is missing")
        content, end = self.text[inner:stop], stop + len(close)
        if triple:
            return self.named("v", content, begin, end)
        if not content:
            raise self.fail(begin, "the tag is empty")
        match content[0]:
            case "!":
                return _Tag("!", end)
            case "=":
                return self.delimiters(content, begin, end)
            case ">":
                raise self.fail(begin, "partials are not supported; put the text in its place")
            case "&":
                return self.named("v", content[1:], begin, end)
            case "#" | "^" | "/":
                return self.named(content[0], content[1:], begin, end)
            case _:
                return self.named("v", content, begin, end)

    def delimiters(self, content: str, begin: int, end: int) -> _Tag:
        parts = _DELIMITERS.fullmatch(content)
        if parts is None:
            raise self.fail(begin, "a change of delimiters has the form {{=<% %>=}}")
        self.open, self.close = parts.groups()
        return _Tag("=", end)

    def named(self, kind: str, name: str, begin: int, end: int) -> _Tag:
        name = name.strip(_SPACE)
        if name == ".":
            return _Tag(kind, end, name)
        path = name.split(".")
        if any(not part or any(not _in_name(c) for c in part) for part in path):
            raise self.fail(
                begin,
                f"{json.dumps(name, ensure_ascii=False)} is not a name; to write {self.open} as text, "
                f"change the delimiters with {self.open}=<% %>={self.close}",
            )
        return _Tag(kind, end, name, path)

    def alone(self, begin: int, end: int) -> tuple[str, int] | None:
        """The space before a tag that is alone on its line, and the position after the line."""
        # Not from the start of the line: that would read one very long line of tags again for each tag.
        start = begin
        while start > 0 and self.text[start - 1] in " \t":
            start -= 1
        if start > 0 and self.text[start - 1] != "\n":
            return None
        line = self.text[start:begin]
        after = end
        while after < len(self.text) and self.text[after] in " \t":
            after += 1
        if after == len(self.text):
            return line, after
        if self.text[after] == "\n":
            return line, after + 1
        if self.text.startswith("\r\n", after):
            return line, after + 2
        return None


def _append_text(nodes: list[_Node], text: str) -> None:
    if text:
        nodes.append(_Node("t", text=text))


def _in_name(character: str) -> bool:
    return character in "_-" or unicodedata.category(character)[0] in "LNM"


@dataclass
class _Scope:
    """A value in which names are looked up: the variables, the value of a section, or an item of it."""

    value: Any
    # The scope that has the value of the section, by its name.
    within: int = 0
    name: list[str] = field(default_factory=list)
    number: int | None = None  # of the item


class _Renderer:
    def __init__(self, variables: dict[str, Any], missing: Missing) -> None:
        self.missing = missing
        self.stack = [_Scope(variables)]
        self.out: list[str] = []
        # By the name without the numbers of items.
        self.missed: dict[str, str] = {}

    @property
    def absent(self) -> list[str]:
        return [*self.missed.values()]

    def render(self, nodes: list[_Node]) -> None:
        for node in nodes:
            if node.kind == "t":
                self.out.append(node.text)
                continue
            value, within, found = self.lookup(node.path)
            if not found:
                place = self.name_of(within, node.path, numbers=False)
                if place not in self.missed:
                    self.missed[place] = self.name_of(within, node.path)
                if self.missing == "keep":
                    self.out.append(node.source)
                    continue
            if node.kind == "v":
                self.out.append(_text(value))
            elif node.kind == "#":
                if _truthy(value):
                    is_list = isinstance(value, list | tuple)
                    for number, item in enumerate(value if is_list else [value]):
                        self.stack.append(_Scope(item, within, node.path, number if is_list else None))
                        self.render(node.children)
                        self.stack.pop()
            elif not _truthy(value) and (found or self.missing != "error"):
                self.render(node.children)

    def name_of(self, within: int, path: list[str], numbers: bool = True) -> str:
        """The name of a value within a scope, as its place in the variables: items.1.name."""
        parts = [*path]
        while within > 0:
            scope = self.stack[within]
            number = [] if scope.number is None or not numbers else [str(scope.number)]
            parts = [*scope.name, *number, *parts]
            within = scope.within
        return ".".join(parts)

    def lookup(self, path: list[str]) -> tuple[Any, int, bool]:
        """The value, the scope that has it, and whether it was found.

        A value that was not found belongs to the scope that has the first part of its name; else to the innermost item
        of a list that has members, or to the variables."""
        if not path:
            return self.stack[-1].value, len(self.stack) - 1, True
        within = 0
        for i in range(len(self.stack) - 1, -1, -1):
            scope = self.stack[i]
            value, found = _member(scope.value, path[0])
            if not found:
                if within == 0 and scope.number is not None and isinstance(scope.value, dict):
                    within = i
                continue
            for name in path[1:]:
                value, found = _member(value, name)
                if not found:
                    return None, i, False
            return value, i, True
        return None, within, False


def _member(value: Any, name: str) -> tuple[Any, bool]:
    if isinstance(value, dict):
        return (value[name], True) if name in value else (None, False)
    if isinstance(value, list | tuple) and re.fullmatch("0|[1-9][0-9]{0,8}", name) and int(name) < len(value):
        return value[int(name)], True
    return None, False


def _truthy(value: Any) -> bool:
    return (
        value is not None and value is not False and value != "" and not (isinstance(value, list | tuple) and not value)
    )


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    """The value as canonical JSON, RFC 8785."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, list | tuple):
        return "[" + ",".join(_json(item) for item in value) + "]"
    if isinstance(value, dict):
        members = []
        for key in sorted(value, key=_utf16):
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is not a text")
            members.append(_string(key) + ":" + _json(value[key]))
        return "{" + ",".join(members) + "}"
    raise TypeError(f"a {type(value).__name__} is not JSON; pass text, numbers, lists or dicts")


def _utf16(key: Any) -> bytes:
    return str(key).encode("utf-16-be", "surrogatepass")


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _string(value: str) -> str:
    return '"' + re.sub(r'["\\\x00-\x1f]', lambda m: _ESCAPES.get(m[0], f"\\u{ord(m[0]):04x}"), value) + '"'


def _number(value: float) -> str:
    """The number as ECMAScript writes it."""
    if not math.isfinite(value):
        raise TypeError(f"the number {value} is not JSON")
    if value == math.trunc(value):
        if abs(value) > _MAX_SAFE:
            raise TypeError("integers beyond 2^53 lose digits in JSON; pass the value as text")
        return str(int(value))
    mantissa, _, exponent = repr(float(value)).partition("e")
    if not exponent:
        return mantissa
    power = int(exponent)
    if power < -6:
        return f"{mantissa}e{power}"
    # repr has an exponent below 1e-4, ECMAScript below 1e-6.
    sign, digits = ("-" if value < 0 else ""), mantissa.lstrip("-").replace(".", "")
    return sign + "0." + "0" * (-power - 1) + digits
