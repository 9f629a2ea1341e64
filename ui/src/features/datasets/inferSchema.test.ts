import { expect, it } from "vitest";
import { LongNumber } from "@/api/json";
import { inferSchema } from "./inferSchema";

it.each([
  ["no values", [], {}],
  ["one type", ["a", "b"], { type: "string" }],
  ["several types", ["a", 1, null], { type: ["null", "number", "string"] }],
  ["whole and other numbers", [1, 1.5, new LongNumber("1234567890123456789")], { type: "number" }],
  ["an empty object", [{}], { type: "object" }],
  [
    "members that all objects have, and others",
    [{ question: "a", context: "b" }, { question: "c", id: 1 }, null],
    {
      type: ["null", "object"],
      properties: { question: { type: "string" }, context: { type: "string" }, id: { type: "number" } },
      required: ["question"],
    },
  ],
  [
    "lists",
    [[{ role: "user" }], [{ role: "assistant", content: null }], []],
    {
      type: "array",
      items: {
        type: "object",
        properties: { role: { type: "string" }, content: { type: "null" } },
        required: ["role"],
      },
    },
  ],
  ["a map", [Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`id-${i}`, i]))], { type: "object" }],
  [
    "a member named __proto__",
    [JSON.parse('{"__proto__": 1}')],
    JSON.parse(
      '{"type": "object", "properties": {"__proto__": {"type": "number"}}, "required": ["__proto__"]}',
    ),
  ],
])("%s", (_, values, want) => expect(inferSchema(values)).toEqual(want));

it("ends in values without end", () => {
  let value: unknown = 1;
  for (let depth = 0; depth < 1000; depth++) value = [value];
  expect(JSON.stringify(inferSchema([value])).length).toBeLessThan(500);
});
