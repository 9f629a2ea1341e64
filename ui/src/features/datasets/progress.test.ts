import { describe, expect, it } from "vitest";
import type { Import } from "@/api/types";
import { failureText, progressText, readShare, resultText, timeLeft } from "./progress";

const running = {
  status: "running",
  phase: "reading",
  bytes_read: 25_000_000,
  size_bytes: 100_000_000,
  processed: 120_000,
  rejected: 0,
  started_at: "2026-11-25T10:00:00Z",
  added: null,
  updated: null,
  removed: null,
  unchanged: null,
} as Import;

describe("readShare", () => {
  it.each([
    [{}, 0.25],
    [{ phase: "writing" as const }, 1],
    [{ status: "queued" as const }, null],
    [{ status: "succeeded" as const }, null],
    [{ size_bytes: 0, bytes_read: 0 }, null],
    [{ bytes_read: 100_000_001 }, 1],
  ])("%j: %s", (change, want) => expect(readShare({ ...running, ...change })).toBe(want));
});

describe("progressText", () => {
  it.each([
    [{}, "25 MB of 100 MB read, 120,000 rows"],
    [{ rejected: 3, processed: 1 }, "25 MB of 100 MB read, 1 row, 3 rejected"],
    [{ phase: "writing" as const }, "Writing the revision, 120,000 rows"],
    [{ status: "queued" as const }, "Waiting for a free worker"],
    [{ status: "uploading" as const, size_bytes: 1200 }, "1.2 kB received"],
  ])("%j: %s", (change, want) => expect(progressText({ ...running, ...change })).toBe(want));
});

describe("timeLeft", () => {
  const at = (seconds: number) => Date.parse("2026-11-25T10:00:00Z") + 1000 * seconds;
  it.each([
    [{}, 10, 30_000],
    [{}, 1, null],
    [{ bytes_read: 1_000_000 }, 60, null],
    [{ phase: "writing" as const }, 10, null],
    [{ started_at: null }, 10, null],
    [{ bytes_read: 100_000_000 }, 10, 0],
  ])("%j after %s s: %s", (change, seconds, want) =>
    expect(timeLeft({ ...running, ...change }, at(seconds))).toBe(want),
  );
});

describe("resultText", () => {
  it.each([
    [{ added: 990, updated: 0, removed: 0, unchanged: 0, rejected: 10 }, "990 added, 10 rejected"],
    [{ added: 1, updated: 2, removed: 3, unchanged: 4 }, "1 added, 2 updated, 3 removed, 4 unchanged"],
    [{}, "Nothing to import"],
  ])("%j: %s", (change, want) => expect(resultText({ ...running, ...change })).toBe(want));
});

describe("failureText", () => {
  const detail = "The file has no rows.";
  it.each([
    [
      { error: { code: "rows_rejected", detail: "…" }, rejected: 1200, total: 3000 },
      "1,200 of 3,000 rows can't be imported",
    ],
    [
      { error: { code: "rows_rejected", detail: "…" }, rejected: 12, total: null },
      "12 of the rows can't be imported",
    ],
    [{ error: { code: "unreadable_file", detail } }, detail],
    [{ error: null }, "The import failed"],
  ])("%j: %s", (change, want) => expect(failureText({ ...running, ...change })).toBe(want));
});
