import { describe, expect, it } from "vitest";
import { LongNumber, writeJson } from "@/api/json";
import {
  convert,
  draftOf,
  editedMembers,
  emptyDraft,
  type ItemContent,
  itemChanges,
  readDraft,
} from "./itemDraft";

const item: ItemContent = {
  key: "capital-fr",
  input: { question: "Capital of France?" } as unknown as ItemContent["input"],
  reference_output: "Paris",
  metadata: {},
  split: "test",
  tags: ["easy"],
};

describe("readDraft", () => {
  it.each<ItemContent>([
    item,
    { key: null, input: null, reference_output: null, metadata: { a: [1] }, split: null, tags: [] },
    { ...item, input: "", reference_output: false },
    { ...item, input: '"quoted"', reference_output: ["a"] },
  ])("gives what draftOf was given: %j", (content) =>
    expect(readDraft(draftOf(content))).toEqual({ content, errors: {} }),
  );
  it("keeps the digits of long numbers", () => {
    const draft = { ...emptyDraft, input: { kind: "json" as const, text: '{"id": 1234567890123456789}' } };
    const { content } = readDraft(draft);
    expect(content.input).toEqual({ id: new LongNumber("1234567890123456789") });
    expect(writeJson(content.input)).toBe('{"id":1234567890123456789}');
  });
  it.each([
    ["input", { input: { kind: "json" as const, text: " " } }, /Enter JSON/],
    ["input", { input: { kind: "json" as const, text: "{" } }, /not valid JSON/],
    ["reference_output", { reference_output: { kind: "json" as const, text: "Paris" } }, /not valid JSON/],
    ["metadata", { metadata: "[1]" }, /JSON object/],
    ["metadata", { metadata: "null" }, /JSON object/],
    ["metadata", { metadata: "{" }, /not valid JSON/],
  ])("names an error in %s", (member, change, message) => {
    const { errors } = readDraft({ ...draftOf(item), ...change });
    expect(Object.keys(errors)).toEqual([member]);
    expect(Object.values(errors)[0]).toMatch(message);
  });
});

describe("convert", () => {
  it.each([
    ["text", 'say "a"', "json", '"say \\"a\\""'],
    ["json", '"a\\nb"', "text", "a\nb"],
    ["json", '{"a": 1}', "text", '{"a": 1}'],
    ["json", "not json", "text", "not json"],
    ["text", "", "json", ""],
    ["text", "a", "text", "a"],
  ] as const)("%s %s to %s", (kind, text, to, want) =>
    expect(convert({ kind, text }, to)).toEqual({ kind: to, text: want }),
  );
});

describe("editedMembers", () => {
  const before = draftOf(item);
  it("has nothing if nothing was touched", () => expect(editedMembers(before, { ...before })).toEqual({}));
  it("has null for what was emptied", () =>
    expect(
      editedMembers(before, {
        ...before,
        key: "",
        split: "",
        reference_output: { kind: "json", text: "" },
      }),
    ).toEqual({ key: null, split: null, reference_output: null }));
  it("has only the members that were edited", () =>
    expect(
      editedMembers(before, { ...before, tags: ["hard"], input: { kind: "text", text: "Capital?" } }),
    ).toEqual({ tags: ["hard"], input: "Capital?" }));
});

describe("itemChanges", () => {
  const named = (a: ItemContent | null, b: ItemContent | null) =>
    itemChanges(a, b).map(({ path, change }) => `${path} ${change}`);
  it("finds nothing in equal items", () => expect(itemChanges(item, { ...item })).toEqual([]));
  it("shows what an added item has", () =>
    expect(named(null, item)).toEqual([
      "key added",
      "input added",
      "reference_output added",
      "split added",
      "tags added",
    ]));
  it("names each member that differs", () =>
    expect(named(item, { ...item, reference_output: null, metadata: { a: 1 }, split: "train" })).toEqual([
      "reference_output removed",
      "metadata added",
      "split changed",
    ]));
  it("tells a text from the number that looks like it", () =>
    expect(itemChanges({ ...item, input: "1" }, { ...item, input: 1 })).toEqual([
      { path: "input", change: "changed", before: '"1"', after: "1" },
    ]));
});
