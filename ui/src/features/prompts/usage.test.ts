import { describe, expect, it } from "vitest";
import { readFilters } from "@/components/filters/filters";
import { versionLabel, windowOf } from "./usage";

describe("versionLabel", () => {
  it.each([
    ["3", "v3"],
    ["2026-11", "2026-11"],
    [null, "no version"],
  ])("%s", (name, want) => expect(versionLabel({ version: name })).toBe(want));
});

describe("windowOf", () => {
  const now = Date.parse("2026-11-02T00:00:00Z");
  it.each([
    ["", {}],
    ["range=24h", { start_after: "2026-11-01T00:00:00.000Z" }],
    ["start_after=2026-10-01T00:00:00Z", { start_after: "2026-10-01T00:00:00.000Z" }],
  ])("%s", (query, want) =>
    expect(windowOf(readFilters(new URLSearchParams(query), null), now)).toEqual(want),
  );
});
