"""Session fixtures: a real installation and the scripted model server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from models import Models
from product import Product


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("recipes")
    group.addoption("--recipes", default="", help="comma-separated names of recipes (default: all)")
    group.addoption(
        "--here", action="store_true", help="run Python recipes in this environment instead of separate ones"
    )


@pytest.fixture(scope="session")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    started = Product(tmp_path_factory.mktemp("product"))
    try:
        started.start()
        yield started
    finally:
        started.stop()


@pytest.fixture(scope="session")
def models() -> Iterator[Models]:
    started = Models()
    started.start()
    yield started
    started.stop()
