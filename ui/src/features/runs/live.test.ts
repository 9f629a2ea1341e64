import { describe, expect, it } from "vitest";
import type { Run } from "@/api/types";
import { absorb, NOTHING } from "./live";

const run = (run_id: string, start: number, status: Run["status"] = "ok") =>
  ({ run_id, status, start_time: `2026-01-01T00:00:0${start}Z`, received_at: `${start}` }) as Run;

describe("absorb", () => {
  const first = [run("c", 3, "running"), run("b", 2)];

  it("renews what is shown and counts what began since", () => {
    const live = absorb(NOTHING, [run("d", 4), run("c", 3, "error"), run("a", 1)], first);
    expect([...live.fresh]).toEqual(["d"]);
    expect(live.changed.get("c")?.status).toBe("error");
    const later = absorb(live, [run("d", 4, "error"), run("e", 5)], first);
    expect([...later.fresh]).toEqual(["d", "e"]);
    expect(live.fresh.size).toBe(1);
  });
  it("stays the same where nothing changed", () => {
    expect(absorb(NOTHING, [run("c", 3, "running"), run("b", 2)], first)).toBe(NOTHING);
    expect(absorb(NOTHING, [], first)).toBe(NOTHING);
  });
  it("counts everything in an empty list", () => {
    expect([...absorb(NOTHING, [run("a", 1)], []).fresh]).toEqual(["a"]);
  });
});
