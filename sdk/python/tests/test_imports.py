"""The modules of the package import each other without circles, also inside functions."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import looptrace


def test_modules_have_no_circles() -> None:
    modules = {path.stem: ast.parse(path.read_text()) for path in Path(looptrace.__file__).parent.glob("*.py")}
    imports = {
        name: {
            node.module for node in ast.walk(module) if isinstance(node, ast.ImportFrom) and node.level and node.module
        }
        for name, module in modules.items()
    }
    assert {"_eval_gate", "_eval_result"} <= imports["__init__"]
    TopologicalSorter(imports).prepare()  # raises CycleError
