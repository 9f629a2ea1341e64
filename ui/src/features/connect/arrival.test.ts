import { describe, expect, it } from "vitest";
import type { Run } from "@/api/types";
import { arrivedRun } from "./arrival";

const run = (run_id: string) => ({ run_id }) as Run;

describe("arrivedRun", () => {
  it("finds the newest new run", () => {
    expect(arrivedRun(new Set(), [])).toBeUndefined();
    expect(arrivedRun(new Set(["a"]), [run("a")])).toBeUndefined();
    expect(arrivedRun(new Set(["a"]), [run("c"), run("b"), run("a")])?.run_id).toBe("c");
  });
});
