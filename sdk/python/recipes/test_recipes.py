"""Runs the code of each page of docs/recipes against the scripted model server and a real product, and reads back what
was recorded. Each page's packages go into an environment of its own under _build/recipes, pinned by locks/, unless
--here says that this environment has them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from models import ANSWER, INPUT, OUTPUT, REASONING, Models
from product import Product, checkout, child_environment, wait

pytestmark = pytest.mark.product

_PAGES = checkout() / "docs" / "recipes"
_LOCKS = Path(__file__).parent / "locks"
_BUILD = checkout() / "_build" / "recipes"
# TypeScript without a type is JavaScript, which Node 20 runs.
_SUFFIX = {"python": ".py", "typescript": ".mjs", "javascript": ".mjs", "go": ".go"}
# ADK adds what was reasoned to the output, which LiteLLM's has in it already.
_OUTPUTS = {"google-adk": OUTPUT + REASONING}


@dataclass(frozen=True)
class Recipe:
    name: str
    install: str
    language: str
    code: str


def _read(page: Path) -> Recipe:
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    (_, install), (language, code) = blocks[:2]
    return Recipe(page.stem, install.strip(), language, code)


def _recipes() -> list[Recipe]:
    return [_read(page) for page in sorted(_PAGES.glob("*.md")) if page.stem != "README"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "recipe" in metafunc.fixturenames:
        wanted = {name for name in metafunc.config.getoption("--recipes").split(",") if name}
        recipes = [recipe for recipe in _recipes() if not wanted or recipe.name in wanted]
        assert not wanted or len(recipes) == len(wanted), f"no such recipe among {sorted(wanted)}"
        metafunc.parametrize("recipe", recipes, ids=[recipe.name for recipe in recipes])


def test_recipe(recipe: Recipe, product: Product, models: Models, request: pytest.FixtureRequest) -> None:
    folder = _BUILD / recipe.name
    folder.mkdir(parents=True, exist_ok=True)
    command = _command(recipe, folder, here=request.config.getoption("--here"))
    # Recipes and runs are told apart by their environment.
    environment = f"{recipe.name}-{time.time_ns()}"
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=180, check=False,
        env=child_environment(
            **product.environment(), **models.environment(), OTEL_SERVICE_NAME=recipe.name,
            OTEL_RESOURCE_ATTRIBUTES=f"deployment.environment.name={environment}",
            CREWAI_DISABLE_TELEMETRY="true", CREWAI_TRACING_ENABLED="false", HAYSTACK_TELEMETRY_ENABLED="false",
            LITELLM_LOCAL_MODEL_COST_MAP="True", DSPY_CACHEDIR=str(folder),
        ),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    said = "Rain in Paris" if recipe.name == "mcp" else ANSWER
    assert said in done.stdout, done.stdout + done.stderr
    spans = wait(f"the spans of {environment}", lambda: _spans(product, environment, recipe), 20)
    if recipe.name != "mcp":
        _check_model_calls(spans, _OUTPUTS.get(recipe.name, OUTPUT))
    if "get_weather" in recipe.code:
        tools = [span["tool"] for span in spans if span["kind"] == "tool" and span["tool"]]
        # MCP's own span of the call knows the name only.
        [tool] = [tool for tool in tools if tool["name"] == "get_weather" and tool["arguments"]]
        assert "Paris" in tool["arguments"]
        assert "Rain in Paris" in tool["result"]
    if "looptrace.session" in recipe.code:
        assert [run["session_id"] for run in product.runs(environment=environment)] == ["chat-1"]


def _check_model_calls(spans: list[dict[str, Any]], output: int) -> None:
    """Of each call, the model, what was said, and what it took, once."""
    # LlamaIndex has spans of kind llm that only prepare a call.
    calls = [span for span in spans if span["kind"] == "llm" and span["input_messages"]]
    assert calls
    for call in calls:
        assert re.search(r"gpt-5-mini|claude-sonnet-4-5", str(call["response_model"] or call["request_model"]))
    assert "Weather in Paris?" in json.dumps(calls[0]["input_messages"])
    assert "raining in Paris" in json.dumps([call["output_messages"] for call in calls])
    counted = [span for span in spans if span["usage"] and span["usage_counted"] is not False]
    counted = [span for span in counted if span["kind"] == "llm"] or counted
    assert {span["usage"]["input_tokens"] for span in counted} == {INPUT}
    assert {span["usage"]["output_tokens"] for span in counted} == {output}


def _spans(product: Product, environment: str, recipe: Recipe) -> list[dict[str, Any]] | None:
    """All spans of a recipe's runs, in start order, once they say what they should."""
    runs = product.runs(environment=environment)
    if not runs or any(run["status"] == "running" for run in runs):
        return None
    spans = [span for run in runs for span in product.spans(run["run_id"])]
    wanted = {"tool"} if recipe.name == "mcp" else {"llm", "tool"} if "get_weather" in recipe.code else {"llm"}
    return sorted(spans, key=lambda span: span["start_time"]) if wanted <= {span["kind"] for span in spans} else None


def _command(recipe: Recipe, folder: Path, *, here: bool) -> list[str]:
    is_node = recipe.language in ("typescript", "javascript")
    node = _BUILD / "node"  # one lock for all of them
    program = (node if is_node else folder) / f"recipe-{recipe.name}{_SUFFIX[recipe.language]}"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(recipe.code)
    if recipe.language == "go":
        return ["go", "run", str(program)]
    if is_node:
        _once(node, [_LOCKS / "node" / "package-lock.json"], lambda: _install_node(node))
        return ["node", str(program)]
    if here:
        return [sys.executable, str(program)]
    lock = _LOCKS / f"{recipe.name}.txt"
    if not lock.exists():  # what the SDK's own tests have
        lock = checkout() / "sdk" / "python" / "test-requirements.txt"
    interpreter = folder / "venv" / "bin" / "python"
    sources = [lock, checkout() / "sdk" / "python" / "pyproject.toml"]
    _once(folder, sources, lambda: _install_python(recipe, folder, lock))
    return [str(interpreter), str(program)]


def _once(folder: Path, sources: list[Path], install: Any) -> None:
    """Installs unless what the sources say is there already."""
    want = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    stamp = folder / ".installed"
    if not stamp.exists() or stamp.read_text() != want:
        install()
        stamp.write_text(want)


def _install_python(recipe: Recipe, folder: Path, lock: Path) -> None:
    """What the page says, with the versions of its lock."""
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder / "venv"], check=True)
    words = re.findall(r"'[^']*'|\S+", recipe.install.removeprefix("pip install "))
    # Editable, so that a change of the package is seen without installing it again.
    here = f"--editable={checkout()}/sdk/python"
    packages = [word.strip("'").replace("./sdk/python", here) for word in words]
    pip = [str(folder / "venv" / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--constraint", str(lock), *packages], check=True)


def _install_node(folder: Path) -> None:
    for file in (_LOCKS / "node").iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    subprocess.run(
        ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], cwd=folder, check=True, env=os.environ
    )
