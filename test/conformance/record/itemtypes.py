"""Writes a sample of every message, item and part that the type definitions of provider SDKs have, for testdata/item-types.json.
   pip install openai anthropic google-genai; python3 itemtypes.py > ../testdata/item-types.json
Each string that may be any text is unique, so that a test finds out which of them a message loses."""
import enum, importlib.metadata, json, typing

import anthropic.types
import google.genai.types
import openai.types.chat
import openai.types.responses
import typing_extensions

MAX_DEPTH = 5


class Sampler:
    def __init__(self):
        self.count = 0

    def text(self):
        self.count += 1
        return f"text-{self.count:03d}."

    def value(self, hint, depth=0):
        origin, args = typing.get_origin(hint), typing.get_args(hint)
        if origin in (typing.Required, typing.NotRequired, typing.Annotated):
            return self.value(args[0], depth)
        if origin is typing.Literal:
            return args[0]
        if origin is typing.Union or str(origin) == "<class 'types.UnionType'>":
            return self.value(next(a for a in args if a is not type(None)), depth)
        if depth > MAX_DEPTH:
            return None
        if hint is str:
            return self.text()
        if hint in (int, float):
            return 1
        if hint is bool:
            return True
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            return list(hint)[-1].value
        if hint is bytes:
            return "AAAA"
        if hasattr(hint, "__total__"):
            return self.object(hint, depth)
        if hasattr(hint, "model_fields"):
            return {f.alias or k: self.value(f.annotation, depth + 1) for k, f in hint.model_fields.items()}
        if origin in (list, tuple, set) or "Iterable" in str(origin) or "Sequence" in str(origin):
            return [self.value(args[0], depth + 1)] if args else []
        if origin is dict or hint is dict or "Mapping" in str(origin):
            return {"key": self.text()}
        if hint is object or hint is typing.Any:
            return {"key": self.text()}
        return None

    def object(self, hint, depth):
        return {k: v for k, h in typing_extensions.get_type_hints(hint, include_extras=True).items() if (v := self.value(h, depth + 1)) is not None}


def union(hint):
    while typing.get_origin(hint) is typing.Annotated:
        hint = typing.get_args(hint)[0]
    return typing.get_args(hint)


samples = {}
for name, hints in {
    "openai responses": union(openai.types.responses.ResponseInputItemParam),
    "openai chat": union(openai.types.chat.ChatCompletionMessageParam),
}.items():
    for hint in hints:
        samples[f"{name} {hint.__name__}"] = [{"role": "user", "content": "before"}, Sampler().value(hint)]
for hint in union(openai.types.chat.ChatCompletionContentPartParam):
    samples[f"openai chat part {hint.__name__}"] = [{"role": "user", "content": [Sampler().value(hint)]}]
for hint in union(anthropic.types.ContentBlockParam):
    samples[f"anthropic {hint.__name__}"] = [{"role": "assistant", "content": [Sampler().value(hint)]}]
for key, field in google.genai.types.Part.model_fields.items():
    part = Sampler().value(field.annotation)
    samples[f"google part {key}"] = [{"role": "model", "parts": [{field.alias or key: part} if part is not None else {"text": "text-000."}]}]
versions = {p: importlib.metadata.version(p) for p in ("openai", "anthropic", "google-genai")}
print(json.dumps({"versions": versions, "samples": samples}, indent=1, ensure_ascii=False))
