import { describe, expect, it } from "vitest";
import type { Label } from "@/api/types";
import { agreementText, hasValue, labelChoices, splitLabels, writtenValue } from "./labels";

const label = (email: string | null, changed: Partial<Label> = {}) =>
  ({
    panel: "correct",
    repeat: 1,
    author: { email, key: null },
    value: null,
    label: null,
    score: null,
    pass: null,
    note: "",
    created_at: "",
    ...changed,
  }) as Label;

describe("the keys of a scale", () => {
  const keys = (...scale: Parameters<typeof labelChoices>) =>
    labelChoices(...scale)?.map(({ key, value }) => [key, value]);
  it("are 1 and 0 for pass and fail", () => {
    expect(keys({ type: "binary" })).toEqual([
      ["1", true],
      ["0", false],
    ]);
  });
  it("are the numbers of an ordinal scale, as far as they have one digit", () => {
    expect(keys({ type: "ordinal", min: 1, max: 3 })).toEqual([
      ["1", 1],
      ["2", 2],
      ["3", 3],
    ]);
    expect(keys({ type: "ordinal", min: -1, max: 10 })?.at(0)).toEqual([null, -1]);
    expect(keys({ type: "ordinal", min: -1, max: 10 })?.at(-1)).toEqual([null, 10]);
  });
  it("count labels", () => {
    expect(keys({ type: "categorical", labels: ["x", "y"] })).toEqual([
      ["1", "x"],
      ["2", "y"],
    ]);
  });
  it("are none for numbers", () => {
    expect(labelChoices({ type: "numeric", min: 0, max: 1 })).toBeNull();
    expect(labelChoices({ type: "ordinal", min: 0, max: 100 })).toBeNull();
  });
});

it("a label is told from others by its value", () => {
  expect(hasValue(label("a", { pass: false, label: "fail" }), { key: "0", value: false, text: "Fail" })).toBe(
    true,
  );
  expect(hasValue(label("a", { value: 4, pass: true }), { key: "4", value: 4, text: "4" })).toBe(true);
  expect(hasValue(label("a", { label: "x" }), { key: "2", value: "y", text: "y" })).toBe(false);
});

it("a note is saved with the value that is there", () => {
  expect(writtenValue(label("a", { pass: false, label: "fail" }), { type: "binary" })).toBe(false);
  expect(writtenValue(label("a", { value: 0 }), { type: "ordinal", min: 0, max: 1 })).toBe(0);
  expect(writtenValue(label("a", { label: "x" }), { type: "categorical", labels: ["x", "y"] })).toBe("x");
});

it("labels of others, of keys and of other panels aren't the reader's", () => {
  const labels = [
    label("bob@example.com"),
    label("ann@example.com", { panel: "tone" }),
    { ...label("ann@example.com"), author: { email: "ann@example.com", key: "ci" } },
  ];
  const me = { email: "ann@example.com" };
  expect(splitLabels(labels, "correct", me)).toEqual({ mine: undefined, others: [labels[0], labels[2]] });
  expect(splitLabels(labels, "tone", me).mine).toBe(labels[1]);
  expect(splitLabels(labels, "tone", null).mine).toBeUndefined();
});

it("says whether people agree", () => {
  const [ann, bob, cleo] = ["ann", "bob", "cleo"].map((name, at) => label(name, { pass: at !== 1 }));
  if (!ann || !bob || !cleo) throw new Error("three labels");
  expect(agreementText([ann])).toBeNull();
  expect(agreementText([ann, cleo])).toBe("2 people agree.");
  expect(agreementText([ann, bob, cleo])).toBe("3 people differ: 2 different labels.");
});
