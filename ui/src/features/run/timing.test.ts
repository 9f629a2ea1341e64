import { describe, expect, it } from "vitest";
import type { Interval } from "./outline";
import { around, bar, pan, pathLine, ticks, zoom } from "./timing";

const run = 2000;
const whole = { from: 0, to: run };

describe("bar", () => {
  it.each([
    ["inside", 500, 500, whole, { left: 0.25, width: 0.25, open: false, outside: null }],
    ["whole", 0, 2000, whole, { left: 0, width: 1, open: false, outside: null }],
    ["without an end", 1000, -1, whole, { left: 0.5, width: 0.5, open: true, outside: null }],
    ["of no length", 1000, 0, whole, { left: 0.5, width: 0, open: false, outside: null }],
    [
      "cut by what is shown",
      0,
      2000,
      { from: 500, to: 1500 },
      { left: 0, width: 1, open: false, outside: null },
    ],
    ["before", 0, 100, { from: 500, to: 1500 }, { left: 0, width: 0, open: false, outside: "before" }],
    ["after", 1800, 100, { from: 500, to: 1500 }, { left: 1, width: 0, open: false, outside: "after" }],
  ] as const)("%s", (_, start, duration, shown, want) =>
    expect(bar(start, duration, shown, run)).toEqual(want),
  );
});

describe("ticks", () => {
  const labels = (shown: Interval, width: number) => ticks(shown, width).map(({ label }) => label);
  it.each([
    [{ from: 0, to: 1000 }, 300, [0, 200, 400, 600, 800]],
    [{ from: 0, to: 1000 }, 120, [0, 500]],
    [{ from: 0, to: 12_400 }, 300, [0, 2500, 5000, 7500, 10_000]],
    [{ from: 0, to: 12_400 }, 120, [0, 5000, 10_000]],
    [{ from: 900, to: 1900 }, 240, [1000, 1200, 1400, 1600, 1800]],
  ])("%j in %d pixels", (shown, width, want) =>
    expect(ticks(shown, width).map(({ at }) => at)).toEqual(want),
  );
  it.each([
    [{ from: 0, to: 1000 }, 240, ["0", "0.2 s", "0.4 s", "0.6 s", "0.8 s"]],
    [{ from: 0, to: 0.9 }, 260, ["0", "200 µs", "400 µs", "600 µs", "800 µs"]],
    [{ from: 12_400, to: 12_440 }, 240, ["12.40 s", "12.41 s", "12.42 s", "12.43 s"]],
    [{ from: 12_400, to: 12_400.4 }, 300, ["12.4000 s", "12.4001 s", "12.4002 s", "12.4003 s"]],
    [{ from: 12_400, to: 12_400.4 }, 150, ["12.4000 s", "12.4002 s"]],
    [{ from: 119_900, to: 120_700 }, 200, ["2 m 00.0 s", "2 m 00.5 s"]],
    [{ from: 0, to: 200_000 }, 240, ["0", "50 s", "1 m 40 s", "2 m 30 s"]],
    [{ from: 3_600_000, to: 3_600_100 }, 240, ["1 h 00 m 00.00 s", "1 h 00 m 00.05 s"]],
  ])("%j in %d pixels are named", (shown, width, want) => expect(labels(shown, width)).toEqual(want));
  it("never have the same name", () => {
    for (const runEnd of [0.5, 12_400, 61_000, 3_700_000, 90_000_000]) {
      for (let length = runEnd; length > runEnd * 1e-6; length /= 1.7) {
        for (const share of [0, 0.37, 0.9]) {
          for (const width of [60, 200, 800]) {
            const from = (runEnd - length) * share;
            const all = ticks({ from, to: from + length }, width);
            const names = all.map(({ label }) => label);
            expect(new Set(names).size, `${from} and ${length}: ${names}`).toBe(names.length);
            expect(all.length).toBeLessThanOrEqual(7);
          }
        }
      }
    }
  });
});

describe("zoom", () => {
  it("keeps the time under the pointer in place", () =>
    expect(zoom(whole, 0.5, 500, run)).toEqual({ from: 250, to: 1250 }));
  it("stays inside the run", () => {
    expect(zoom({ from: 0, to: 100 }, 4, 0, run)).toEqual({ from: 0, to: 400 });
    expect(zoom({ from: 1500, to: 2000 }, 100, 2000, run)).toEqual(whole);
  });
  it("has a limit", () => {
    const closest = zoom({ from: 10, to: 10.002 }, 0.0001, 10, run);
    expect(closest.to - closest.from).toBeCloseTo(0.002);
  });
});

describe("pan", () => {
  it.each([
    [0.5, { from: 750, to: 1250 }],
    [-9, { from: 0, to: 500 }],
    [9, { from: 1500, to: 2000 }],
  ])("by %d", (share, want) => expect(pan({ from: 500, to: 1000 }, share, run)).toEqual(want));
});

describe("around", () => {
  it.each([
    ["a span", 500, 100, { from: 490, to: 610 }],
    ["the run", 0, 2000, { from: 0, to: 2000 }],
    ["a moment", 500, 0, { from: 499.998, to: 500.002 }],
  ])("%s", (_, start, duration, want) => {
    const got = around(start, duration, run);
    expect(got.from).toBeCloseTo(want.from);
    expect(got.to).toBeCloseTo(want.to);
  });
});

describe("pathLine", () => {
  it.each([
    ["nothing", [], ""],
    [
      "intervals",
      [
        { from: 0, to: 100 },
        { from: 200, to: 300 },
      ],
      "M0 0H100M200 0H300",
    ],
    [
      "what is near is one line",
      [
        { from: 0, to: 100 },
        { from: 100.4, to: 300 },
      ],
      "M0 0H100H300",
    ],
    ["a moment can be seen", [{ from: 100, to: 100.01 }], "M100 0H101"],
  ])("%s", (_, intervals, want) => expect(pathLine(intervals, whole)).toBe(want));
  it("omits intervals out of view", () =>
    expect(
      pathLine(
        [
          { from: 0, to: 400 },
          { from: 900, to: 1200 },
        ],
        { from: 500, to: 1000 },
      ),
    ).toBe("M1600 0H2000"));
  it("is short however many intervals there are", () => {
    const many = Array.from({ length: 50_000 }, (_, i) => ({ from: i / 25, to: i / 25 + 0.01 }));
    expect(pathLine(many, whole).length).toBeLessThan(30_000);
  });
});
