"""Versions of prompts, and what they render to. The cases in test/conformance/templates.json hold rendering together
with the server and the UI."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.util.types import AttributeValue

from . import _arguments, _context, _keys
from ._log import failed
from ._template import Missing, MissingVariablesError, TemplateSyntaxError, check, names, render

if TYPE_CHECKING:
    from typing_extensions import Self

Source: TypeAlias = Literal["fresh", "cache", "stale", "default"]
Default: TypeAlias = "str | Sequence[Mapping[str, Any]] | Mapping[str, Any]"

_FORMATS, _MISSING = ("mustache", "none"), ("error", "keep", "empty")
_TYPES: dict[str, Callable[[Any], bool]] = {
    "any": lambda _: True,
    "string": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: isinstance(value, int | float) and not isinstance(value, bool) and value % 1 == 0,
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list | tuple),
}
_CONTENT = frozenset(
    {"messages", "tools", "response_format", "model_config", "variables", "template_format", "missing"}
)
# The other members of a version as the API writes it.
_ABOUT = frozenset({"prompt_id", "name", "version", "content_hash", "note", "created_by", "created_at"})


class PromptValuesError(ValueError):
    """Values for a prompt are missing or have another type than the prompt declares."""

    def __init__(
        self, missing_variables: list[str], missing_placeholders: list[str], wrong_types: dict[str, str]
    ) -> None:
        absent = missing_variables + missing_placeholders
        parts = ["no value for " + ", ".join(absent)] if absent else []
        parts += [f"{name} is not of the type {kind}" for name, kind in wrong_types.items()]
        super().__init__("; ".join(parts))
        # In order of appearance, names of variables as in the text.
        self.missing_variables = missing_variables
        self.missing_placeholders = missing_placeholders
        # The declared type by name.
        self.wrong_types = wrong_types


class Version:
    """The content of a version. It is shared and never changed."""

    __slots__ = (
        "messages", "missing", "model_config", "number", "plain", "prompt_id", "response_format", "tools", "variables",
    )  # fmt: skip

    def __init__(self, members: Mapping[str, Any]) -> None:
        """Raises ValueError for members that are not those of a version."""
        self.prompt_id: str | None = _optional(members, "prompt_id", str)
        self.number: int | None = _optional(members, "version", int)
        self.messages = _list(members, "messages")
        if not self.messages:
            raise ValueError("messages: at least one is needed")
        self.tools = _list(members, "tools")
        self.response_format = _optional(members, "response_format", dict)
        self.model_config: dict[str, Any] = _optional(members, "model_config", dict) or {}
        self.variables: dict[str, dict[str, Any]] = _optional(members, "variables", dict) or {}
        for name, declared in self.variables.items():
            if not isinstance(declared, dict) or declared.get("type", "any") not in _TYPES:
                raise ValueError(f"variables[{name!r}]: not a declaration, or of a type that is none of {[*_TYPES]}")
        self.plain = _one_of(members, "template_format", _FORMATS) == "none"
        self.missing = cast(Missing, _one_of(members, "missing", _MISSING))
        for place, message in enumerate(self.messages):
            if _placeholder(message) is None and not isinstance(message.get("role"), str):
                raise ValueError(f"messages[{place}]: neither a message with a role nor a placeholder with a name")
            self._texts(place, message, _check)

    def render(
        self, variables: dict[str, Any], placeholders: Mapping[str, Sequence[Any]]
    ) -> tuple[list[Any], list[str]]:
        """Returns the messages, and the given values that the prompt does not name.

        Raises PromptValuesError, or TypeError for a value that is not JSON."""
        wrong = {
            name: kind for name in sorted(variables)
            if (kind := self._declared(name)) is not None and not self._accepts(name, kind, variables[name])
        }  # fmt: skip
        absent: dict[str, None] = {}
        absent_placeholders: dict[str, None] = {}
        used: set[str] = set()
        used_placeholders: set[str] = set()
        values = self._with_defaults(variables)
        rendered: list[Any] = []

        def fill(path: str, text: str) -> str:
            used.update(names(text))
            try:
                return render(text, values, self.missing)
            except MissingVariablesError as error:
                absent.update(dict.fromkeys(error.names))
                return text
            except TypeError as error:
                raise TypeError(f"{path}: {error}") from None

        for place, message in enumerate(self.messages):
            name = _placeholder(message)
            if name is None:
                rendered.append(self._texts(place, message, fill))
                continue
            used_placeholders.add(name)
            if name in placeholders:
                rendered.extend(_inserted(name, placeholders[name]))
            elif self.missing == "keep":
                rendered.append(copied(message))
            elif self.missing == "error":
                absent_placeholders[name] = None
        if absent or absent_placeholders or wrong:
            raise PromptValuesError([*absent], [*absent_placeholders], wrong)
        unused = [name for name in sorted(variables) if name not in used]
        return rendered, unused + [name for name in sorted(placeholders) if name not in used_placeholders]

    def _texts(self, place: int, message: dict[str, Any], fill: Callable[[str, str], str]) -> dict[str, Any]:
        """Returns a copy of the message with each template replaced by what fill returns for its path and text."""
        message = copied(message)
        if self.plain or _placeholder(message) is not None:
            return message
        path, content = f"messages[{place}].content", message.get("content")
        if isinstance(content, str):
            message["content"] = fill(path, content)
        for number, part in enumerate(content) if isinstance(content, list) else ():
            if not isinstance(part, dict):
                continue
            inner = f"{path}[{number}]"
            if part.get("type") == "text" and isinstance(part.get("text"), str):
                part["text"] = fill(inner + ".text", part["text"])
            elif part.get("type") == "image_url":
                image = part.get("image_url")
                if isinstance(image, str):
                    part["image_url"] = fill(inner + ".image_url", image)
                elif isinstance(image, dict) and isinstance(image.get("url"), str):
                    image["url"] = fill(inner + ".image_url.url", image["url"])
        return message

    def _declared(self, name: str) -> str | None:
        return None if (declared := self.variables.get(name)) is None else declared.get("type", "any")

    def _accepts(self, name: str, kind: str, value: Any) -> bool:
        return _TYPES[kind](value) or (value is None and self.variables[name].get("required") is False)

    def _with_defaults(self, variables: dict[str, Any]) -> dict[str, Any]:
        defaults = {
            name: declared.get("default") for name, declared in self.variables.items()
            if "default" in declared or declared.get("required") is False
        }  # fmt: skip
        return {**defaults, **variables}


def _optional(members: Mapping[str, Any], name: str, kind: type) -> Any:
    value = members.get(name)
    if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
        raise ValueError(f"{name}: a {type(value).__name__} instead of a {kind.__name__}")
    return value


def _list(members: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    value = members.get(name)
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise ValueError(f"{name}: a {type(value).__name__} instead of a list")  # noqa: TRY004 - documented as ValueError
    for place, item in enumerate(value):
        if not isinstance(item, dict):
            raise ValueError(f"{name}[{place}]: a {type(item).__name__} instead of a dict")  # noqa: TRY004 - as above
    return list(value)


def _one_of(members: Mapping[str, Any], name: str, allowed: tuple[str, ...]) -> str:
    value = members.get(name, allowed[0])
    if value not in allowed:
        raise ValueError(f"{name}: {value!r} is none of {', '.join(allowed)}")
    return str(value)


def _check(path: str, text: str) -> str:
    try:
        check(text)
    except TemplateSyntaxError as error:
        raise ValueError(f"{path}: {error}") from None
    return text


def _placeholder(message: dict[str, Any]) -> str | None:
    name = message.get("name") if message.get("type") == "placeholder" else None
    return name if isinstance(name, str) else None


def _inserted(name: str, messages: object) -> list[Any]:
    if not isinstance(messages, list | tuple):
        raise TypeError(f"placeholders[{name!r}] is a {type(messages).__name__}; pass a list of messages")
    return list(messages)


def copied(value: Any) -> Any:
    """Copies JSON, so that no caller can change what others share."""
    if isinstance(value, dict):
        return {name: copied(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [copied(item) for item in value]
    return value


def version_of_default(name: str, default: Default) -> Version:
    """Raises ValueError for a default that is neither a text, messages, nor the members of a version."""
    try:
        if isinstance(default, str):
            return _version_of_text(default)
        return Version(_members(name, default) if isinstance(default, Mapping) else {"messages": default})
    except ValueError as error:
        raise ValueError(f"the default of the prompt {name}: {error}") from None


def _members(name: str, default: Mapping[str, Any]) -> Mapping[str, Any]:
    if unknown := sorted(map(str, default.keys() - _CONTENT - _ABOUT)):
        raise ValueError(f"{', '.join(unknown)}: not a member of a version")
    if default.get("name", name) != name:
        raise ValueError(f"it is a version of the prompt {default['name']}")
    return default


@lru_cache(maxsize=256)
def _version_of_text(text: str) -> Version:
    if not text:
        raise ValueError("the text is empty")
    return Version({"messages": [{"role": "system", "content": text}]})


class Prompt:
    """A version of a prompt, as looptrace.prompt found it. It does not change when its alias moves."""

    __slots__ = ("_age", "_alias", "_content", "_name", "_source")

    def __init__(self, name: str, alias: str | None, content: Version, source: Source, age: float) -> None:
        self._name, self._alias, self._content, self._source, self._age = name, alias, content, source, age

    def __repr__(self) -> str:
        return f"<Prompt {self._name} version={self.version} alias={self._alias} {self._source}>"

    @property
    def name(self) -> str:
        return self._name

    @property
    def id(self) -> str | None:
        """The prompt's id. None for a default, unless it names one."""
        return self._content.prompt_id

    @property
    def version(self) -> int | None:
        """The version's number. None for a default, unless it names one."""
        return self._content.number

    @property
    def alias(self) -> str | None:
        """The alias that was asked for; None for a version by its number."""
        return self._alias

    @property
    def source(self) -> Source:
        """`fresh`: from this call's request. `cache`: kept, and known to be current within max_age or by the stream.
        `stale`: kept, and perhaps no longer what the alias has. `default`: the default of this call."""
        return self._source

    @property
    def age(self) -> float:
        """The seconds since Looptrace last confirmed that the alias has this version. 0 for `fresh`, for a default, and
        for a version by its number."""
        return self._age

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages with their variables and placeholders."""
        return cast("list[dict[str, Any]]", copied(self._content.messages))

    @property
    def tools(self) -> list[dict[str, Any]]:
        return cast("list[dict[str, Any]]", copied(self._content.tools))

    @property
    def response_format(self) -> dict[str, Any] | None:
        return cast("dict[str, Any] | None", copied(self._content.response_format))

    @property
    def model_config(self) -> dict[str, Any]:
        return cast("dict[str, Any]", copied(self._content.model_config))

    @property
    def variables(self) -> dict[str, dict[str, Any]]:
        """The declared variables by name: `type`, `required`, `default`, `description`, `example`."""
        return cast("dict[str, dict[str, Any]]", copied(self._content.variables))

    def render(
        self,
        /,
        variables: Mapping[str, Any] | None = None,
        placeholders: Mapping[str, Sequence[Any]] | None = None,
        **more: Any,
    ) -> RenderedPrompt:
        """Fills in the variables, given by keyword or as a mapping, and the lists of messages of the placeholders.

        Sets the attributes of the prompt on the current span if this package started it.

        Raises PromptValuesError for values that are missing or of another type than declared, and TypeError for a value
        that is not JSON."""
        for what, given in (("variables", variables), ("placeholders", placeholders)):
            if given is not None and not isinstance(given, Mapping):
                raise TypeError(
                    f"{what} is a {type(given).__name__} instead of a mapping; pass a variable of this name as "
                    f'render({{"{what}": …}})'
                )
        messages, unused = self._content.render({**(variables or {}), **more}, placeholders or {})
        rendered = RenderedPrompt(self, messages, unused)
        _describe_current(rendered)
        return rendered


class RenderedPrompt:
    """The messages of a prompt with all values, its tools and parameters.

    In `with rendered:` or `async with rendered:`, the spans of model calls get the attributes of the prompt.
    """

    __slots__ = ("_scopes", "messages", "parameters", "prompt", "response_format", "tools", "unused")

    def __init__(self, prompt: Prompt, messages: list[Any], unused: list[str]) -> None:
        self.prompt = prompt
        # In the shape of OpenAI's chat completions. Messages of placeholders are as they were given.
        self.messages = messages
        self.tools = prompt.tools
        self.response_format = prompt.response_format
        # The model and its settings, as keyword arguments for OpenAI's client.
        self.parameters = _arguments.parameters(prompt.model_config)
        # The given variables and placeholders that the prompt does not name.
        self.unused = unused
        self._scopes: _context.PromptScopes = []

    def openai(self) -> dict[str, Any]:
        """Returns the keyword arguments for `chat.completions.create` of OpenAI's client."""
        return _arguments.openai(self.messages, self.tools, self.response_format, self.parameters)

    def anthropic(self) -> dict[str, Any]:
        """Returns the keyword arguments for `messages.create` of Anthropic's client.

        Raises ValueError for what Anthropic's API has no form for."""
        return _arguments.anthropic(self.messages, self.tools, self.response_format, self.prompt.model_config)

    @property
    def attributes(self) -> dict[str, AttributeValue]:
        """The attributes by which spans name the prompt."""
        prompt = self.prompt
        named: dict[str, AttributeValue | None] = {
            _keys.PROMPT_NAME: prompt.name,
            _keys.PROMPT_VERSION: None if prompt.version is None else str(prompt.version),
            _keys.PROMPT_ID: prompt.id,
            _keys.PROMPT_ALIAS: prompt.alias,
            _keys.PROMPT_SOURCE: prompt.source,
            _keys.PROMPT_AGE: round(prompt.age, 3) if prompt.source == "stale" else None,
        }
        return {key: value for key, value in named.items() if value is not None}

    def __enter__(self) -> Self:
        _context.enter_prompt(self._scopes, self.attributes)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _context.exit_prompt(self._scopes)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, traceback)


def _describe_current(rendered: RenderedPrompt) -> None:
    try:
        current: Any = trace.get_current_span(otel_context.get_current())
        scope = getattr(current, "instrumentation_scope", None)
        if scope is not None and scope.name == "looptrace" and current.is_recording():
            current.set_attributes(rendered.attributes)
    except Exception as error:  # noqa: BLE001 - must not raise into user code
        failed("describe a prompt", error)
