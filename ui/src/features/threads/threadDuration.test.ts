import { describe, expect, it } from "vitest";
import { threadDuration } from "./threadDuration";

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 12, 0, second)).toISOString();
const thread = (last: number, running = false) => ({ first_time: at(0), last_time: at(last), running });
const run = (start: number, duration_ms: number | null) => ({ start_time: at(start), duration_ms });
const now = Date.parse(at(40)) + 300;

describe("threadDuration", () => {
  it.each([
    ["one run of 12 s", thread(0), [run(0, 12_000)], true, "12 s"],
    ["a long run beside a short one", thread(5), [run(0, 30_000), run(5, 1_000)], true, "30 s"],
    ["a run of unknown length", thread(5), [run(0, 1_000), run(5, null)], true, "5 s"],
    ["runs that are not here yet", thread(20), [run(0, 1_000)], false, "at least 20 s"],
    ["a run that goes on", thread(5, true), [run(0, 1_000), run(5, null)], true, "40 s…"],
  ] as const)("%s", (_, of, runs, areAll, want) => expect(threadDuration(of, runs, areAll, now)).toBe(want));
});
