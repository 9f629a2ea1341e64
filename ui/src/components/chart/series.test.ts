import { describe, expect, it } from "vitest";
import {
  DURATION_STEPS,
  decades,
  isolated,
  isSkewed,
  powersOfTen,
  stack,
  touchedBuckets,
  WHOLE_STEPS,
} from "./series";

describe("stack", () => {
  it("adds up layers, and keeps gaps of unknown values", () => {
    expect(
      stack([
        [1, null, null],
        [2, 3, null],
      ]),
    ).toEqual([
      [1, null, null],
      [3, 3, null],
    ]);
  });
});

describe("logarithmic axes", () => {
  const series = (values: (number | null)[]) => [{ label: "", color: "", values }];
  it.each([
    [[1, 2, 3, 101], true],
    [[1, 2, 3, 100], false],
    [[0, 0, 0, null, 5], false],
    [[], false],
  ])("%j are skewed: %s", (values, want) => expect(isSkewed(series(values))).toBe(want));
  it.each([
    [
      [0, 300, 1_500_000],
      [100, 10_000_000],
    ],
    [
      [null, 0],
      [1, 10],
    ],
    [[0.002], [0.001, 0.01]],
    [[100], [100, 1000]],
  ])("%j have the decades %j", (values, want) => expect(decades(values)).toEqual(want));
});

it("labels the powers of ten", () => expect(powersOfTen(0.1, 100)).toEqual([0.1, 1, 10, 100]));

it("finds values that no line reaches", () => {
  expect(isolated([1, null, 2, 3, null, 4])).toEqual([0, 5]);
  expect(isolated([null, 0])).toEqual([1]);
});

it("has whole steps for counts, up to more than a year's tokens", () => {
  expect(WHOLE_STEPS.slice(0, 5)).toEqual([1, 2, 5, 10, 20]);
  expect(WHOLE_STEPS.every(Number.isSafeInteger)).toBe(true);
});

it("has increasing steps for durations", () => {
  expect(DURATION_STEPS).toEqual([...new Set(DURATION_STEPS)].sort((a, b) => a - b));
  expect(DURATION_STEPS).toContain(15 * 60_000);
  expect(DURATION_STEPS).not.toContain(1_000_000);
});

describe("touchedBuckets", () => {
  it.each([
    [100, 160, [100, 160]],
    [119, 121, [100, 160]],
    [130, 130, [130 - 30, 160]],
    [101, 219, [100, 220]],
  ])("%i to %i", (from, until, want) => expect(touchedBuckets(from, until, 60, 40)).toEqual(want));
});
