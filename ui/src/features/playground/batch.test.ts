import { describe, expect, it } from "vitest";
import type { Completion } from "@/api/types";
import { type BatchRow, costOf, runBatch, variablesFrom } from "./batch";

const row = (id: string): BatchRow => ({
  id,
  variables: {},
  state: "waiting",
  completion: null,
  error: null,
});
const completion = (cost_usd: number | null) => ({ cost_usd }) as Completion;

describe("variablesFrom", () => {
  it.each([
    [{ a: 1, b: 2, c: 3 }, ["a", "b"], { a: 1, b: 2 }],
    [{ a: 1 }, ["a", "b"], null],
    ["text", ["a"], { a: "text" }],
    [{ b: 1 }, ["a"], { a: { b: 1 } }],
    ["text", ["a", "b"], null],
    ["text", [], {}],
  ])("%j for %j", (input, names, want) => expect(variablesFrom(input, names)).toEqual(want));
});

describe("runBatch", () => {
  it("runs all, at most four at once", async () => {
    const rows = new Map(Array.from({ length: 11 }, (_, index) => [`${index}`, row(`${index}`)]));
    let running = 0;
    let most = 0;
    const call = async ({ id }: BatchRow) => {
      running += 1;
      most = Math.max(most, running);
      await Promise.resolve();
      await Promise.resolve();
      running -= 1;
      if (id === "3") throw new Error("refused");
      return completion(id === "4" ? null : 0.5);
    };
    await runBatch([...rows.values()], call, new AbortController().signal, (changed) =>
      rows.set(changed.id, changed),
    );
    expect(most).toBe(4);
    expect(rows.get("3")).toMatchObject({ state: "failed", error: new Error("refused") });
    expect([...rows.values()].filter(({ state }) => state === "done")).toHaveLength(10);
    expect(costOf([...rows.values()])).toEqual({ usd: 4.5, unknown: 1 });
  });

  it("cancels what runs and what waits, and skips what can't run", async () => {
    const abort = new AbortController();
    const rows = new Map(["a", "b", "c", "d", "e"].map((id) => [id, row(id)]));
    rows.set("b", { ...row("b"), state: "failed" });
    const call = (_: BatchRow, signal: AbortSignal) =>
      new Promise<Completion>((_, reject) => {
        signal.addEventListener("abort", () => reject(new Error("aborted")));
      });
    const done = runBatch([...rows.values()], call, abort.signal, (changed) => rows.set(changed.id, changed));
    abort.abort();
    await done;
    expect([...rows.values()].map(({ state }) => state)).toEqual([
      "cancelled",
      "failed",
      "cancelled",
      "cancelled",
      "cancelled",
    ]);
  });
});
