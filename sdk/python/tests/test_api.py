"""Tests of the public API."""

from __future__ import annotations

import inspect
from pathlib import Path

import looptrace


def test_exported_members_have_docs() -> None:
    for name in looptrace.__all__:
        assert hasattr(looptrace, name), name
        if name != "__version__":
            assert inspect.getdoc(getattr(looptrace, name)), f"{name} has no doc"


def test_nothing_else_is_public() -> None:
    public = {name for name in vars(looptrace) if not name.startswith("_")} - {"annotations"}
    assert public == set(looptrace.__all__) - {"__version__"}


def test_documented_in_the_manual() -> None:
    manual = (Path(__file__).parents[3] / "docs" / "python-sdk.md").read_text()
    undocumented = [name for name in looptrace.__all__ if name not in manual and name != "__version__"]
    assert not undocumented


def test_typed() -> None:
    assert (Path(looptrace.__file__).parent / "py.typed").exists()
