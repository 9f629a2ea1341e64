import { describe, expect, it } from "vitest";
import { asText, showPart } from "./parts";

describe("showPart", () => {
  const unknown = { type: "hologram", x: 1 };
  const broken = { type: "text", content: { odd: true } };
  it.each([
    [
      { type: "text", content: "hi" },
      { kind: "text", text: "hi" },
    ],
    [
      { type: "reasoning", content: "so" },
      { kind: "reasoning", text: "so" },
    ],
    [
      { type: "tool_call", id: "c1", name: "search", arguments: { q: "x" } },
      { kind: "call", name: "search", id: "c1", args: { q: "x" } },
    ],
    [{ type: "tool_call" }, { kind: "call", name: "unknown", id: null, args: undefined }],
    [
      { type: "tool_call_response", id: "c1", response: "found" },
      { kind: "response", id: "c1", result: "found" },
    ],
    [
      { type: "tool_call_response", result: [1] },
      { kind: "response", id: null, result: [1] },
    ],
    [
      { type: "uri", modality: "image", uri: "https://example.com/a.png" },
      { kind: "link", address: "https://example.com/a.png", what: "image" },
    ],
    [
      { type: "uri", uri: "data:image/png;base64,aGVsbG8=" },
      { kind: "image", base64: "aGVsbG8=", mime: "image/png", bytes: 5 },
    ],
    [
      { type: "blob", mime_type: "image/webp", content: "a-b_" },
      { kind: "image", base64: "a-b_", mime: "image/webp", bytes: 3 },
    ],
    [
      { type: "blob", mime_type: "image/svg+xml", content: "aGVsbG8=" },
      { kind: "binary", mime: "image/svg+xml", bytes: 5 },
    ],
    [unknown, { kind: "other", part: unknown }],
    [broken, { kind: "other", part: broken }],
  ])("%j", (part, want) => expect(showPart(part)).toEqual(want));
});

describe("asText", () => {
  it.each([
    ["x", "x"],
    [null, ""],
    [undefined, ""],
    [{ a: 1 }, '{"a":1}'],
  ])("%j → %s", (value, want) => expect(asText(value)).toBe(want));
});
