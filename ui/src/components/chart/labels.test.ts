import { describe, expect, it } from "vitest";
import { bucketLabel, labelFits, tickLabel } from "./labels";

const at = (hour: number, minute: number, second: number) =>
  new Date(2026, 10, 22, hour, minute, second).getTime() / 1000;

describe("tickLabel", () => {
  it.each([
    [at(14, 3, 0), 3600, /^14:03$/],
    [at(14, 3, 20), 5, /^14:03:20$/],
    [at(0, 0, 0), 3600, /22/],
    [at(0, 0, 20), 5, /^00:00:20$/],
    [at(14, 0, 0), 86_400, /22/],
    [at(0, 0, 0), 30 * 86_400, /^Nov 2026$/],
    [at(0, 0, 0), 365 * 86_400, /^2026$/],
  ])("%d by %d", (time, step, want) => expect(tickLabel(time, step)).toMatch(want));
});

describe("labelFits", () => {
  it.each([
    [0, false],
    [15, false],
    [16, true],
    [374, true],
    [375, false],
  ])("14:03 at %d of 390 px: %s", (x, want) => expect(labelFits("14:03", x, 390)).toBe(want));
});

describe("bucketLabel", () => {
  it("shows seconds for buckets shorter than a minute", () => {
    expect(bucketLabel(at(14, 3, 20), 5)).toMatch(/14:03:20 – 14:03:25$/);
    expect(bucketLabel(at(14, 3, 0), 60)).toMatch(/14:03 – 14:04$/);
    expect(bucketLabel(at(0, 0, 0), 86_400)).not.toMatch(/–/);
    expect(bucketLabel(at(0, 0, 0), 365 * 86_400)).toMatch(/2026/);
  });
});
