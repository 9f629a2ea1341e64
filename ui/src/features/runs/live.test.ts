import { describe, expect, it } from "vitest";
import type { Run } from "@/api/types";
import { mergeHead, uniqueRuns } from "./live";

const run = (run_id: string, status: Run["status"] = "ok") => ({ run_id, status }) as Run;
const ids = (runs: Run[]) => runs.map((item) => `${item.run_id} ${item.status}`);

describe("mergeHead", () => {
  it("keeps the order, renews rows and counts what is new", () => {
    const { rows, fresh } = mergeHead(
      [run("b", "running"), run("a")],
      [run("d"), run("c"), run("b", "error")],
    );
    expect(ids(rows)).toEqual(["b error", "a ok"]);
    expect(fresh).toBe(2);
  });
  it("is what is loaded while nothing is polled", () => {
    expect(mergeHead([run("a")], undefined)).toEqual({ rows: [run("a")], fresh: 0 });
  });
});

describe("uniqueRuns", () => {
  it("keeps one row a run", () =>
    expect(ids(uniqueRuns([run("a"), run("b"), run("a")]))).toEqual(["a ok", "b ok"]));
});
