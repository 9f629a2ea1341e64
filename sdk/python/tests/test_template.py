import json
import pathlib
from typing import Any

import pytest

from looptrace._template import MissingVariablesError, TemplateSyntaxError, _Parser, names, render

FILE = json.loads((pathlib.Path(__file__).parents[3] / "test/conformance/templates.json").read_text())
CASES = FILE["cases"]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    def rendered() -> str:
        return render(case["template"], case["variables"], case.get("missing", "error"))

    if "error" in case:
        with pytest.raises((TemplateSyntaxError, TypeError)) as refused:
            rendered()
        assert case["error"]["contains"] in str(refused.value)
        if "line" in case["error"]:
            assert isinstance(refused.value, TemplateSyntaxError)
            assert (refused.value.line, refused.value.column) == (case["error"]["line"], case["error"]["column"])
    elif "missing_variables" in case:
        with pytest.raises(MissingVariablesError) as missing:
            rendered()
        assert missing.value.names == case["missing_variables"]
    else:
        assert rendered() == case["text"]


@pytest.mark.parametrize("case", FILE["names"], ids=[case["name"] for case in FILE["names"]])
def test_names(case: dict[str, Any]) -> None:
    assert names(case["template"]) == case["variables"]


def test_value_that_is_not_json() -> None:
    with pytest.raises(TypeError, match="a set is not JSON"):
        render("{{a}}", {"a": {1}})
    with pytest.raises(TypeError, match="the number nan is not JSON"):
        render("{{a}}", {"a": float("nan")})


class _Counting(str):
    """A text that counts the characters that are copied from it."""

    copied = 0

    def __getitem__(self, key: Any) -> str:
        part = super().__getitem__(key)
        self.copied += len(part)
        return part


def test_long_line_of_tags() -> None:
    text = _Counting("{{!c}}" * 10_000)
    assert _Parser(text).nodes("", 0) == []
    assert text.copied < 10 * len(text)
