"""The settings of init. Arguments take precedence over LOOPTRACE_*, OTEL_* and defaults, in this order."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import requests
from opentelemetry.util.types import AttributeValue

from ._json import text_of
from ._log import warn

Redact: TypeAlias = Callable[[str, AttributeValue], "AttributeValue | None"]
Instrument: TypeAlias = "Literal['auto', False] | Iterable[str]"

DEFAULT_ENDPOINT = "http://127.0.0.1:7090"
_TRACES_PATH = "/v1/traces"
_TRUE, _FALSE = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off"})


@dataclass(frozen=True)
class Config:
    """Resolved settings."""

    traces_url: str
    # The base URL of the UI and API. None if only an OTLP endpoint is configured.
    web_url: str | None
    api_key: str | None = field(repr=False)
    project: str | None
    service_name: str | None
    environment: str | None
    release: str | None
    capture_content: bool
    content_limit: int
    # None leaves sampling to OTEL_TRACES_SAMPLER.
    sample_rate: float | None
    redact: Redact | None
    instrument: Literal["auto"] | tuple[str, ...]
    timeout: float
    disabled: bool


def resolve(
    *,
    api_key: str | None = None,
    endpoint: str | None = None,
    project: str | None = None,
    service_name: str | None = None,
    environment: str | None = None,
    release: str | None = None,
    capture_content: bool | None = None,
    content_limit: int | None = None,
    sample_rate: float | None = None,
    redact: Redact | None = None,
    instrument: Instrument | None = None,
    timeout: float | None = None,
) -> Config:
    traces_url, web_url = _addresses(_text(endpoint, "LOOPTRACE_ENDPOINT"))
    return Config(
        traces_url=traces_url,
        web_url=web_url,
        api_key=_text(api_key, "LOOPTRACE_API_KEY"),
        project=_text(project, "LOOPTRACE_PROJECT"),
        service_name=_text(service_name, "LOOPTRACE_SERVICE_NAME"),
        environment=_text(environment, "LOOPTRACE_ENVIRONMENT"),
        release=_text(release, "LOOPTRACE_RELEASE"),
        capture_content=_flag("LOOPTRACE_CAPTURE_CONTENT", capture_content, default=True),
        content_limit=int(_number(content_limit, 65_536, 1, "LOOPTRACE_CONTENT_LIMIT")),
        sample_rate=_sample_rate(sample_rate),
        redact=redact,
        instrument=_instrument(instrument),
        timeout=_number(timeout, 5.0, 0.0, "LOOPTRACE_TIMEOUT", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT",
                        "OTEL_EXPORTER_OTLP_TIMEOUT"),
        disabled=_flag("OTEL_SDK_DISABLED", None, default=False),
    )  # fmt: skip


def _variable(*names: str) -> str | None:
    """Returns the first of the environment variables that is not empty."""
    return next((value for name in names if (value := os.environ.get(name, "").strip())), None)


def _text(argument: object, name: str) -> str | None:
    return (None if argument is None else text_of(argument).strip()) or _variable(name)


def _addresses(endpoint: str | None) -> tuple[str, str | None]:
    """Returns the URL for traces and the base URL. endpoint is either of them."""
    if endpoint is None:
        if full := _variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
            return full, None
        if base := _variable("OTEL_EXPORTER_OTLP_ENDPOINT"):
            return base.rstrip("/") + _TRACES_PATH, None
        endpoint = DEFAULT_ENDPOINT
    base = endpoint.rstrip("/").removesuffix(_TRACES_PATH)
    return base + _TRACES_PATH, base


def is_url(url: str) -> bool:
    """Reports whether requests can send to it."""
    try:
        requests.Request("POST", url).prepare()
    except (requests.RequestException, ValueError):
        return False
    return url.lower().startswith(("http://", "https://"))


def not_a_url(url: object) -> str:
    return f"{url!r} is not the URL of a service, such as {DEFAULT_ENDPOINT}: check LOOPTRACE_ENDPOINT"


def _flag(name: str, argument: object, *, default: bool) -> bool:
    if argument is not None and not isinstance(argument, str):
        try:
            return bool(argument)
        except Exception:  # noqa: BLE001 - it may be anything, such as an array
            argument = text_of(argument)
    value = (_text(argument, name) or "").lower()
    if value and value not in _TRUE | _FALSE:
        warn("%s=%s is neither true nor false; using the default %s", name, value, default)
    return value in _TRUE if value in _TRUE | _FALSE else default


def _number(argument: Any, default: float, minimum: float, *names: str, maximum: float = math.inf) -> float:
    """Returns the argument, a variable or the default. A value out of range gives the default."""
    given = argument if argument is not None else _variable(*names)
    if given is None:
        return default
    try:
        number = float(given)
    except Exception:  # noqa: BLE001 - it may be anything
        number = math.nan
    if minimum <= number <= maximum and math.isfinite(number):
        return number
    warn("%s=%s is not a number from %s to %s; using %s", names[0], text_of(given), minimum, maximum, default)
    return default


def _sample_rate(argument: float | None) -> float | None:
    """Returns the fraction of traces to record, or None to leave sampling to OTEL_TRACES_SAMPLER."""
    if argument is None and _variable("LOOPTRACE_SAMPLE_RATE") is None:
        return None
    return _number(argument, 1.0, 0.0, "LOOPTRACE_SAMPLE_RATE", maximum=1.0)


def _instrument(argument: Any) -> Literal["auto"] | tuple[str, ...]:
    if argument is None:
        named = _variable("LOOPTRACE_INSTRUMENT")
        if named is None or named.lower() in _TRUE | {"auto"}:
            return "auto"
        return () if named.lower() in _FALSE else _names(named.split(","))
    if isinstance(argument, int) and argument in (False, True):
        return "auto" if argument else ()
    try:
        names = [argument] if isinstance(argument, str) else [text_of(name) for name in argument]
    except Exception:  # noqa: BLE001 - it may be anything
        warn('instrument=%s is neither "auto", nor False, nor names of libraries; using "auto"', text_of(argument))
        return "auto"
    return "auto" if names == ["auto"] else _names(names)


def _names(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name.strip().lower().replace("_", "-") for name in names if name.strip())
