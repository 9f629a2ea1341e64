"""Tests of how values become JSON and attributes."""

from __future__ import annotations

import decimal
import enum
import fractions
import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from receiver import Receiver

import looptrace
from looptrace._json import to_attribute, to_json

Recorded = Callable[[], list[Any]]


def read(value: object, limit: int = 65_536) -> Any:
    return json.loads(to_json(value, limit))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2**53 + 1, 2**53 + 1),
        (2**64 - 1, 2**64 - 1),
        (2**64, "18446744073709551616"),
        (-(2**80), "-1208925819614629174706176"),
        (10**1000, str(10**1000)),
        (10**100_000, "<integer of 332193 bits>"),
        (decimal.Decimal("1.10"), "1.10"),
        (fractions.Fraction(1, 3), "1/3"),
        (fractions.Fraction(10**100_000, 3), "<unreadable Fraction>"),
        ({2**70: 1}, {str(2**70): 1}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_numbers(value: object, expected: object) -> None:
    assert read(value) == expected


def test_digits_that_python_does_not_print(monkeypatch: pytest.MonkeyPatch) -> None:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        assert read(1 << 4096) == "<integer of 4097 bits>"
    finally:
        sys.set_int_max_str_digits(before)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.int64(5), 5),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.float32(0.5), 0.5),
        (np.float16("nan"), "nan"),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (np.longdouble("0.5"), "0.5"),
        (np.complex64(1j), "1j"),
        (np.datetime64("2026-01-01T00:00:00.000000001"), "2026-01-01T00:00:00.000000001"),
        (np.timedelta64(5, "s"), "5 seconds"),
        (np.array(3), 3),
        (np.array([1, 2, 3]), [1, 2, 3]),
        (np.array([[True], [False]]), [[True], [False]]),
        (np.array([]), []),
        (np.zeros((2, 0)), [[], []]),
        (np.array(["2026-01-01"], dtype="datetime64[ns]"), ["2026-01-01T00:00:00.000000000"]),
        (np.array([2**70, None, "x"], dtype=object), [str(2**70), None, "x"]),
        (np.ma.masked_array([1, 2], [False, True]), [1, None]),
        (np.zeros((2, 1_000_000)), "<ndarray of shape (2, 1000000)>"),
        ({np.int64(1): {"list": [np.int8(2)]}}, {"1": {"list": [2]}}),
        (pd.Timestamp("2026-01-01"), "2026-01-01T00:00:00"),
        (pd.Series([1, 2]), [1, 2]),
        (pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]),
        (pd.Index(["a", "b"]), ["a", "b"]),
        # What a list cannot tell stays as it is printed.
        (pd.Series([1], index=["a"]), "a    1\ndtype: int64"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "   a  a\n0  1  2"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_arrays(value: object, expected: object) -> None:
    assert read(value) == expected


def test_arrays_are_bounded() -> None:
    million = np.arange(1_000_000)
    assert read(million)[:2] == [0, 1]
    assert read(million)[-1] == "…[cut, 1000000 items in all]"
    assert read(pd.DataFrame({"a": million}))[-1] == "…[cut, 1000000 items in all]"
    assert read(pd.DataFrame({"a": million}, index=million + 1)).endswith("\n…[cut, 1000000 rows in all]")
    for value in (million, [million] * 10_000, {str(number): million for number in range(10_000)}):
        assert len(to_json(value, 1000)) < 5000
    with np.printoptions(threshold=sys.maxsize), pd.option_context("display.max_rows", None):
        assert len(to_json([np.zeros((2, 1_000_000)), pd.Series(million, index=million + 1)], 1000)) < 5000


def test_tensors() -> None:
    """By a stand-in, because torch is large. Like a tensor it has a dtype without a kind, and is no sequence."""

    class Tensor:
        dtype = object()

        def __init__(self, values: Any) -> None:
            self._values = np.array(values)

        @property
        def shape(self) -> tuple[int, ...]:
            return self._values.shape

        def __getitem__(self, part: slice) -> Tensor:
            return Tensor(self._values[part])

        def item(self) -> Any:
            return self._values.item()

        def tolist(self) -> Any:
            return self._values.tolist()

    Tensor.__module__ = "torch"
    assert read([Tensor([[1, 2]]), Tensor(0.5)]) == [[[1, 2]], 0.5]
    assert read(Tensor(range(1_000_000)))[-1] == "…[cut, 1000000 items in all]"


def test_an_array_that_holds_itself() -> None:
    loop = np.array([None], dtype=object)
    loop[0] = loop
    assert read(loop) == ["…[itself]"]


class _Color(enum.Enum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2**63 - 1, 2**63 - 1),
        (2**63, "9223372036854775808"),
        (-(2**63) - 1, "-9223372036854775809"),
        (2**70, "1180591620717411303424"),
        (10**100_000, "<integer of 332193 bits>"),
        (np.int64(5), 5),
        (np.bool_(False), False),
        (np.float32(0.5), 0.5),
        (np.array([1]), "[1]"),
        (_Color.RED, 1),
        (True, True),
        (0.5, 0.5),
        (None, "null"),
        ({"a": [1]}, '{"a": [1]}'),
        (decimal.Decimal("1.10"), '"1.10"'),
        ("a\ud800", "a?"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_attributes(value: object, expected: object) -> None:
    attribute = to_attribute(value, 1000)
    assert attribute == expected
    assert type(attribute) is type(expected)


def test_values_reach_the_product(recorded: Recorded, receiver: Receiver) -> None:
    @looptrace.tool
    def echo(value: Any) -> Any:
        return value

    with looptrace.metadata(tier=np.int64(3), user=2**64), looptrace.span("root", kind="llm") as root:
        root.set_usage(input_tokens=np.int64(7))  # type: ignore[arg-type]
        root.set_attribute("order", 2**64)
        echo({"id": 2**64, "flag": np.bool_(True), "array": np.array([1.5])})
    recorded()
    attributes = receiver.named("root").attributes
    assert attributes["looptrace.metadata.tier"] == 3
    assert attributes["looptrace.metadata.user"] == attributes["order"] == str(2**64)
    assert attributes["gen_ai.usage.input_tokens"] == 7
    expected = {"id": str(2**64), "flag": True, "array": [1.5]}
    assert json.loads(receiver.named("execute_tool echo").attributes["gen_ai.tool.call.result"]) == expected


def test_a_value_that_cannot_be_read_does_not_take_others_with_it() -> None:
    class Hostile:
        @property  # type: ignore[misc]
        def __class__(self) -> type:
            raise RuntimeError("class")

        def __str__(self) -> str:
            raise RuntimeError("str")

        __repr__ = __str__

    class Number(int):
        def __int__(self) -> int:
            raise RuntimeError("int")

    assert read([1, Hostile(), Number(5)]) == [1, "<unreadable Hostile>", 5]
    assert read({Hostile(): 1, "a": 2}) == {"<unreadable Hostile>": 1, "a": 2}
