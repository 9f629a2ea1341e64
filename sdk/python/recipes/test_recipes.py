"""Runs each page of docs/recipes as it stands, the program and the command that runs it, against the scripted model
server and a real product, and reads back what was recorded. Each page's packages go into an environment of its own
under _build/recipes, pinned by locks/, unless --here says that this environment has them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from models import ANSWER, INPUT, OUTPUT, REASONING, Models
from product import Product, checkout, child_environment, wait

pytestmark = pytest.mark.product

_PAGES = checkout() / "docs" / "recipes"
_LOCKS = Path(__file__).parent / "locks"
_BUILD = checkout() / "_build" / "recipes"
# ADK adds what was reasoned to the output, which LiteLLM's has in it already. Mastra has one span for both calls.
_TOKENS = {"google-adk": (INPUT, OUTPUT + REASONING), "mastra": (2 * INPUT, 2 * OUTPUT)}
# Says how a program failed to send.
_UNSENT = re.compile(
    r"(?i)\b(failed to export|error while exporting|transient error|export.* failed|traceback|is not a valid option)\b"
)


@dataclass(frozen=True)
class Recipe:
    name: str
    install: str
    language: str
    file: str
    code: str
    run: str


def _read(page: Path) -> Recipe:
    blocks = re.findall(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    (_, _, install), (language, file, code), (_, _, run) = blocks[:3]
    return Recipe(page.stem, install.strip(), language, file, code, run)


def _recipes() -> list[Recipe]:
    return [_read(page) for page in sorted(_PAGES.glob("*.md")) if page.stem != "README"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "recipe" in metafunc.fixturenames:
        wanted = {name for name in metafunc.config.getoption("--recipes").split(",") if name}
        recipes = [recipe for recipe in _recipes() if not wanted or recipe.name in wanted]
        assert not wanted or len(recipes) == len(wanted), f"no such recipe among {sorted(wanted)}"
        metafunc.parametrize("recipe", recipes, ids=[recipe.name for recipe in recipes])


def test_recipe(recipe: Recipe, product: Product, models: Models, request: pytest.FixtureRequest) -> None:
    folder, path = _prepare(recipe, here=request.config.getoption("--here"))
    # Recipes and runs are told apart by their environment.
    environment = f"{recipe.name}-{time.time_ns()}"
    began = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    variables = child_environment(
        **product.environment(), **models.environment(), OTEL_SERVICE_NAME=recipe.name,
        OTEL_RESOURCE_ATTRIBUTES=f"deployment.environment.name={environment}",
        CREWAI_DISABLE_TELEMETRY="true", CREWAI_TRACING_ENABLED="false", HAYSTACK_TELEMETRY_ENABLED="false",
        LITELLM_LOCAL_MODEL_COST_MAP="True", DSPY_CACHEDIR=str(folder), MASTRA_TELEMETRY_DISABLED="true",
        PATH=os.pathsep.join([*map(str, path), os.environ["PATH"]]),
    )  # fmt: skip
    if recipe.name == "opentelemetry-collector":
        done = _through_collector(recipe, folder, variables)
    else:
        done = _shell(recipe.run, folder, variables)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not _UNSENT.search(done.stderr), done.stderr
    if recipe.name == "opentelemetry-zero-code":
        assert done.stderr == ""
    said = "Rain in Paris" if recipe.name == "mcp" else ANSWER
    assert said in done.stdout, done.stdout + done.stderr
    # Mastra reads no resource attributes.
    found = {"start_after": began} if recipe.name == "mastra" else {"environment": environment}
    spans = wait(f"the spans of {environment}", lambda: _spans(product, found, recipe), 20)
    if recipe.name != "mcp":
        _check_model_calls(recipe.name, spans)
    if "get_weather" in recipe.code:
        tools = [span["tool"] for span in spans if span["kind"] == "tool" and span["tool"]]
        # MCP's own span of the call knows the name only.
        [tool] = [tool for tool in tools if tool["name"].endswith("get_weather") and tool["arguments"]]
        assert "Paris" in tool["arguments"]
        assert "Rain in Paris" in tool["result"]
    if "looptrace.session" in recipe.code:
        assert [run["session_id"] for run in product.runs(environment=environment)] == ["chat-1"]


def _check_model_calls(name: str, spans: list[dict[str, Any]]) -> None:
    """Of each call, the model, what was said, and what it took, once."""
    # LlamaIndex has spans of kind llm that only prepare a call, Mastra of its steps.
    calls = [span for span in spans if span["kind"] == "llm" and span["input_messages"]]
    if name == "mastra":
        calls = [call for call in calls if call["request_model"]]
    assert calls
    for call in calls:
        assert re.search(r"gpt-5-mini|claude-sonnet-4-5", str(call["response_model"] or call["request_model"]))
    assert "Weather in Paris?" in json.dumps(calls[0]["input_messages"])
    assert "raining in Paris" in json.dumps([call["output_messages"] for call in calls])
    counted = [span for span in spans if span["usage"] and span["usage_counted"] is not False]
    counted = [span for span in counted if span["kind"] == "llm"] or counted
    assert [(span["usage"]["input_tokens"], span["usage"]["output_tokens"]) for span in counted] == [
        _TOKENS.get(name, (INPUT, OUTPUT)) for _ in counted
    ]


def _spans(product: Product, found: dict[str, str], recipe: Recipe) -> list[dict[str, Any]] | None:
    """All spans of a recipe's runs, in start order, once they say what they should."""
    runs = product.runs(**found)
    if not runs or any(run["status"] == "running" for run in runs):
        return None
    spans = [span for run in runs for span in product.spans(run["run_id"])]
    wanted = {"tool"} if recipe.name == "mcp" else {"llm", "tool"} if "get_weather" in recipe.code else {"llm"}
    return sorted(spans, key=lambda span: span["start_time"]) if wanted <= {span["kind"] for span in spans} else None


def _shell(command: str, folder: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-euc", command], cwd=folder, capture_output=True, text=True, timeout=180, check=False, env=variables
    )


def _through_collector(recipe: Recipe, folder: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs the Collector, and the program of another page, which knows the Collector's address and no key."""
    program = _read(_PAGES / "opentelemetry-python.md")
    (folder / program.file).write_text(program.code)
    with (folder / "collector.log").open("wb") as log:
        collector = subprocess.Popen(
            ["bash", "-euc", "exec " + recipe.run], cwd=folder, env=variables, stdout=log, stderr=log
        )
    try:
        wait("the Collector is ready", lambda: _listens("127.0.0.1", 14318))
        sent = {"LOOPTRACE_ENDPOINT": "http://127.0.0.1:14318", "LOOPTRACE_API_KEY": "none"}
        done = _shell(program.run, folder, {**variables, **sent})
    finally:
        collector.terminate()
        collector.wait(30)
    print((folder / "collector.log").read_text())
    return done


def _listens(host: str, port: int) -> bool | None:
    with socket.socket() as probe:
        return True if probe.connect_ex((host, port)) == 0 else None


def _prepare(recipe: Recipe, *, here: bool) -> tuple[Path, list[Path]]:
    """Installs the packages and writes the program. Returns its folder, and folders of commands that it needs."""
    node = _LOCKS / recipe.name
    if not node.is_dir():  # most recipes of Node share one
        node = _LOCKS / "node"
    folder = _BUILD / (node.name if recipe.language == "javascript" else recipe.name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / recipe.file).write_text(recipe.code)
    commands = [Path(sys.executable).parent]
    if recipe.language == "javascript":
        _once(folder, [node / "package-lock.json"], lambda: _install_node(folder, node))
    elif recipe.language == "java":
        _once(folder, [_PAGES / f"{recipe.name}.md"], lambda: _install(recipe.install, folder))
    elif recipe.language == "yaml":
        manifest = _LOCKS / "collector" / "builder-config.yaml"
        build = f"go run go.opentelemetry.io/collector/cmd/builder@v0.158.0 --config {manifest}"
        _once(folder, [manifest], lambda: _install(build, folder))
        commands = [folder / "otelcol", *commands]
    elif recipe.language == "python" and not here:
        lock = _LOCKS / f"{recipe.name}.txt"
        if not lock.exists():  # what the SDK's own tests have
            lock = checkout() / "sdk" / "python" / "test-requirements.txt"
        sources = [lock, checkout() / "sdk" / "python" / "pyproject.toml"]
        _once(folder, sources, lambda: _install_python(recipe, folder, lock))
        commands = [folder / "venv" / "bin"]
    return folder, commands


def _install(command: str, folder: Path) -> None:
    subprocess.run(["bash", "-euc", command], cwd=folder, check=True)


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


def _install_node(folder: Path, lock: Path) -> None:
    for file in lock.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    subprocess.run(
        ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], cwd=folder, check=True, env=os.environ
    )
