import { expect, test } from "vitest";
import { writeJson } from "@/api/json";
import type { NearDuplicateCheck, NearDuplicateItem } from "@/api/types";
import { checkLimits, checkProgress, formatSimilarity, inputOf } from "./nearDuplicates";

const check = {
  status: "running",
  phase: "reading",
  total: 2000,
  processed: 1000,
  items_without_text: null,
  pairs_not_listed: null,
  items_partly_compared: null,
} as NearDuplicateCheck;

test("similarities are rounded down, so that only equal inputs have 100%", () => {
  expect([1, 0.9999, 0.8, 0.29].map(formatSimilarity)).toEqual(["100%", "99%", "80%", "29%"]);
});

test("progress", () => {
  expect(checkProgress(check)).toBe("1,000 of 2,000 items read");
  expect(checkProgress({ ...check, phase: "comparing" })).toBe("Comparing 2,000 items");
  expect(checkProgress({ ...check, status: "queued", phase: null })).toBe("Waiting for a free worker");
});

test("what a check leaves out is said", () => {
  expect(checkLimits(check)).toEqual([]);
  expect(
    checkLimits({ ...check, items_without_text: 0, pairs_not_listed: 0, items_partly_compared: 0 }),
  ).toEqual([]);
  const limits = checkLimits({
    ...check,
    items_without_text: 1,
    pairs_not_listed: 3,
    items_partly_compared: 70,
  });
  expect(limits).toHaveLength(3);
  expect(limits[0]).toBe("1 item without any text was skipped.");
  expect(limits[1]).toMatch(/^3 pairs are counted but not listed/);
  expect(limits[2]).toMatch(/^70 items had so many candidates/);
});

test("inputs are values whose numbers keep their digits, or texts that are cut", () => {
  const input = (text: string, isCut = false) =>
    inputOf({ input_preview: text, input_truncated: isCut } as NearDuplicateItem);
  expect(input('"a \\"b\\""')).toBe('a "b"');
  expect(writeJson(input('{"id":1234567890123456789}'))).toBe('{"id":1234567890123456789}');
  expect(input('{"id":12', true)).toBe('{"id":12…');
});
