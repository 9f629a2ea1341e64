"""Turns on instrumentations of the libraries that a program uses.

One instrumentation per library is turned on: the library's own, or else the one of OpenInference, OpenTelemetry or
OpenLLMetry, in this order. For MCP before version 2, OpenLLMetry comes first, because OpenInference only propagates the
context. A library that is not imported yet is instrumented on import, so init imports no libraries.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any, Literal

import wrapt
from opentelemetry.sdk.trace import Span as SdkSpan
from opentelemetry.trace import Span, TracerProvider

from ._config import Config
from ._log import failed, logger
from ._state import state

_OI = "openinference-instrumentation-"
_OTEL = "opentelemetry-instrumentation-"


@dataclass(frozen=True)
class Library:
    """A library and its instrumentations."""

    # The library's distribution, and the module whose import triggers the instrumentation.
    distribution: str
    module: str
    # Instrumentations, preferred first. The prefix is oi: for OpenInference, otel: for OpenTelemetry or OpenLLMetry.
    recorders: tuple[str, ...] = ()
    # Turns on the library's own instrumentation. None if it has none, or if it is always on.
    own: Callable[[Config, TracerProvider], None] | None = None
    # The first major version with an own instrumentation that uses the global tracer provider.
    native: int | None = None
    # The library's modules that call models through a client library. The library's instrumentation records these
    # calls, so the client's span would be a duplicate.
    calls_models: tuple[str, ...] = ()


def _pydantic_ai(config: Config, provider: TracerProvider) -> None:
    pydantic_ai = importlib.import_module("pydantic_ai")
    settings = importlib.import_module("pydantic_ai.models.instrumented").InstrumentationSettings
    pydantic_ai.Agent.instrument_all(settings(tracer_provider=provider, include_content=config.capture_content))


LIBRARIES: dict[str, Library] = {
    # Frameworks.
    "agno": Library("agno", "agno", ("oi:agno", "otel:genai-agno", "otel:agno"), calls_models=("agno.models",)),
    "autogen-agentchat": Library("autogen-agentchat", "autogen_agentchat", ("oi:autogen-agentchat",)),
    "beeai": Library("beeai-framework", "beeai_framework", ("oi:beeai",)),
    "claude-agent-sdk": Library("claude-agent-sdk", "claude_agent_sdk", ("oi:claude-agent-sdk",)),
    "crewai": Library("crewai", "crewai", ("oi:crewai", "otel:crewai")),
    # Its instrumentation does not record tokens. They are in the spans of LiteLLM, through which it calls models.
    "dspy": Library("dspy", "dspy", ("oi:dspy", "otel:genai-dspy")),
    "google-adk": Library("google-adk", "google.adk", native=0, calls_models=("google.adk.models",)),
    "guardrails": Library("guardrails-ai", "guardrails", ("oi:guardrails",)),
    "haystack": Library(
        "haystack-ai", "haystack", ("oi:haystack", "otel:haystack"), calls_models=("haystack.components.generators",)
    ),
    "instructor": Library("instructor", "instructor", ("oi:instructor",)),
    "langchain": Library(
        "langchain-core", "langchain_core", ("oi:langchain", "otel:genai-langchain", "otel:langchain"),
        calls_models=("langchain_core.language_models",),
    ),
    "llama-index": Library(
        "llama-index-core", "llama_index.core", ("oi:llama-index", "otel:genai-llama-index", "otel:llamaindex"),
        calls_models=("llama_index.llms", "llama_index.core.llms", "llama_index.embeddings"),
    ),
    "microsoft-agent-framework": Library("agent-framework-core", "agent_framework", native=0),
    "openai-agents": Library(
        "openai-agents", "agents",
        ("oi:openai-agents", "otel:genai-openai-agents", "otel:openai-agents-v2", "otel:openai-agents"),
        calls_models=("agents.models", "agents.extensions.models"),
    ),
    "pydantic-ai": Library(
        "pydantic-ai-slim", "pydantic_ai", ("oi:pydantic-ai",), own=_pydantic_ai, calls_models=("pydantic_ai.models",)
    ),
    "smolagents": Library(
        "smolagents", "smolagents", ("oi:smolagents", "otel:genai-smolagents"), calls_models=("smolagents.models",)
    ),
    "strands": Library("strands-agents", "strands", native=0, calls_models=("strands.models",)),
    # Clients of model providers.
    "anthropic": Library(
        "anthropic", "anthropic", ("oi:anthropic", "otel:genai-anthropic", "otel:anthropic")
    ),
    "bedrock": Library("boto3", "boto3", ("oi:bedrock", "otel:genai-bedrock", "otel:bedrock")),
    "cohere": Library("cohere", "cohere", ("oi:cohere", "otel:cohere")),
    "google-genai": Library(
        "google-genai", "google.genai", ("oi:google-genai", "otel:google-genai", "otel:google-generativeai")
    ),
    "groq": Library("groq", "groq", ("oi:groq", "otel:groq")),
    "litellm": Library("litellm", "litellm", ("oi:litellm",), calls_models=("litellm.llms", "litellm.main")),
    "mistralai": Library("mistralai", "mistralai", ("oi:mistralai", "otel:mistralai")),
    "ollama": Library("ollama", "ollama", ("oi:ollama", "otel:ollama")),
    "openai": Library("openai", "openai", ("oi:openai", "otel:genai-openai", "otel:openai-v2", "otel:openai")),
    "portkey": Library("portkey-ai", "portkey_ai", ("oi:portkey", "otel:genai-portkey")),
    "together": Library("together", "together", ("oi:together", "otel:together")),
    "vertexai": Library("google-cloud-aiplatform", "vertexai", ("oi:vertexai", "otel:vertexai")),
    # Tools.
    "mcp": Library("mcp", "mcp", ("otel:mcp", "oi:mcp"), native=2),
}  # fmt: skip

# Libraries through which frameworks call models.
_CLIENTS = frozenset({
    "anthropic", "bedrock", "cohere", "google-genai", "groq", "litellm", "mistralai", "ollama", "openai", "portkey",
    "together", "vertexai",
})  # fmt: skip


class Instrumentations:
    """The instrumentations that are on."""

    def __init__(self, config: Config, provider: TracerProvider) -> None:
        self._config, self._provider = config, provider
        self._calls_models: list[tuple[str, tuple[str, ...]]] = []
        self._client_scopes: dict[str, str] = {}
        self.instrumented: dict[str, str] = {}
        self.skipped: dict[str, str] = {}

    def turn_on(self, wanted: Literal["auto"] | Sequence[str]) -> None:
        for name in () if wanted == "auto" else wanted:
            if name not in LIBRARIES:
                self.skipped[name] = "unknown library; supported are " + ", ".join(LIBRARIES)
        for name, library in LIBRARIES.items():
            if wanted != "auto" and name not in wanted:
                self.skipped[name] = "not requested"
                continue
            try:
                self._consider(name, library)
            except Exception as error:  # noqa: BLE001 - a failure must not affect other libraries
                self._failed(name, error)

    def _consider(self, name: str, library: Library) -> None:
        if _version(library.distribution) is None:
            self.skipped[name] = "not installed"
            return
        if library.own is not None:
            self._when_imported(name, library, library.distribution, lambda: self._own(library))
            return
        if library.native is not None and _major(library.distribution) >= library.native:
            self._noted(name, library, library.distribution)
            return
        recorders = [_distribution(recorder) for recorder in library.recorders]
        if recorder := next((recorder for recorder in recorders if _version(recorder) is not None), None):
            self._when_imported(name, library, recorder, partial(self._instrument, recorder))
            return
        self.skipped[name] = f"no instrumentation installed; pip install {recorders[0]}"

    def _when_imported(self, name: str, library: Library, recorder: str, act: Callable[[], None]) -> None:
        def now(_module: object = None) -> None:
            try:
                act()
            except Exception as error:  # noqa: BLE001 - must not raise into the user's import
                self._failed(name, error)

        self._noted(name, library, recorder)
        if library.module in sys.modules:
            now()
        else:
            wrapt.register_post_import_hook(now, library.module)

    def _noted(self, name: str, library: Library, recorder: str) -> None:
        self.instrumented[name] = f"{recorder} {_version(recorder)}"
        if library.calls_models:
            self._calls_models.append((name, library.calls_models))
        if name in _CLIENTS:
            for point in _entry_points(recorder):
                self._client_scopes[point.module] = name

    def _failed(self, name: str, error: Exception) -> None:
        self.instrumented.pop(name, None)
        self._calls_models = [entry for entry in self._calls_models if entry[0] != name]
        self.skipped[name] = f"{type(error).__name__}: {error}"
        failed(f"instrument {name}", error)

    def _own(self, library: Library) -> None:
        if library.own is not None:
            library.own(self._config, self._provider)

    def _instrument(self, recorder: str) -> None:
        points = list(_entry_points(recorder))
        if not points:
            raise LookupError(f"{recorder} has no opentelemetry_instrumentor entry point")
        for point in points:
            instrumentor: Any = point.load()()
            if instrumentor.is_instrumented_by_opentelemetry:
                continue  # turned on by the program
            # For OpenAI Agents, keep the existing trace processors, such as its upload.
            options = {"exclusive_processor": False} if recorder == _OI + "openai-agents" else {}
            instrumentor.instrument(tracer_provider=self._provider, **options)
            if not instrumentor.is_instrumented_by_opentelemetry:
                raise LookupError(f"{recorder} does not support the installed version")
        if recorder == _OI + "langchain":
            state.framework_span = _langchain_span()

    def is_duplicate(self, span: SdkSpan) -> bool:
        """Reports whether a client's span duplicates a call that a framework's instrumentation records."""
        scope = span.instrumentation_scope
        if not self._calls_models or scope is None:
            return False
        client = self._client_scopes.get(scope.name)
        if client is None:
            return False
        prefixes = tuple(prefix for name, modules in self._calls_models if name != client for prefix in modules)
        return any(module.startswith(prefixes) for module in _callers()) if prefixes else False


def _callers() -> Iterator[str]:
    """Yields the modules of the calling frames, innermost first."""
    frame: FrameType | None = sys._getframe(1)  # inspect.stack reads source files
    while frame is not None:
        yield frame.f_globals.get("__name__") or ""
        frame = frame.f_back


def _langchain_span() -> Callable[[], Span | None]:
    """Returns a function that finds the span of the running LangChain step, which is not in the context."""
    module = importlib.import_module("openinference.instrumentation.langchain")
    find: Callable[[], Span | None] = module.get_current_span
    return find


def _distribution(recorder: str) -> str:
    return recorder.replace("oi:", _OI).replace("otel:", _OTEL)


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _major(distribution: str) -> int:
    number = (_version(distribution) or "").partition(".")[0]
    return int(number) if number.isdecimal() else 0


def _entry_points(distribution: str) -> list[importlib.metadata.EntryPoint]:
    return list(importlib.metadata.distribution(distribution).entry_points.select(group="opentelemetry_instrumentor"))


def log(found: Instrumentations) -> None:
    on = ", ".join(f"{name} ({recorder})" for name, recorder in found.instrumented.items())
    plain = ("not installed", "not requested")
    off = "; ".join(f"{name}: {why}" for name, why in found.skipped.items() if why not in plain)
    logger.info("instrumented: %s", on or "nothing")
    if off:
        logger.info("not instrumented: %s", off)
