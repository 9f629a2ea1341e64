import { describe, expect, it } from "vitest";
import type { Run } from "@/api/types";
import { type Listed, mergeArrivals, NO_CHANGES } from "./live";

const run = (run_id: string, start: number, status: Run["status"] = "ok") =>
  ({ run_id, status, start_time: `2026-01-01T00:00:0${start}Z`, received_at: `${start} ${status}` }) as Run;

const rows = [run("e", 5, "running"), run("c", 3)];
const list = (data: Run[], more: Partial<Listed> = {}, next_cursor: string | null = "next"): Listed => ({
  first: { data, next_cursor },
  isNewestFirst: true,
  ...more,
});

describe("mergeArrivals", () => {
  const listed = list(rows);
  const fresh = (arrived: Run[], on: Listed) => [...mergeArrivals(NO_CHANGES, arrived, on).fresh];

  it("updates shown runs and counts new ones", () => {
    const live = mergeArrivals(NO_CHANGES, [run("f", 6), run("e", 5, "error")], listed);
    expect([...live.fresh]).toEqual(["f"]);
    expect(live.changed.get("e")?.status).toBe("error");
    const later = mergeArrivals(live, [run("f", 6, "error"), run("g", 7)], listed);
    expect([...later.fresh]).toEqual(["f", "g"]);
    expect(live.fresh.size).toBe(1);
  });
  it("returns the same object if nothing changed", () => {
    expect(mergeArrivals(NO_CHANGES, [run("e", 5, "running"), run("c", 3)], listed)).toBe(NO_CHANGES);
    expect(mergeArrivals(NO_CHANGES, [], listed)).toBe(NO_CHANGES);
  });
  it("counts late arrivals, down to the oldest run of the page", () =>
    expect(fresh([run("d", 4), run("b", 3), run("a", 1)], listed)).toEqual(["d"]));
  it("counts all other runs if the list is complete", () => {
    expect(fresh([run("a", 1)], list(rows, {}, null))).toEqual(["a"]);
    expect(fresh([run("a", 1)], list([], {}, null))).toEqual(["a"]);
    expect(fresh([run("f", 6)], list(rows, { isNewestFirst: false }, null))).toEqual(["f"]);
  });
  it("compares times, not strings", () => {
    const half = { ...run("d", 3), start_time: "2026-01-01T00:00:03.5Z" };
    expect(fresh([half], listed)).toEqual(["d"]);
  });
  it("counts nothing in another order, and updates shown runs", () => {
    const live = mergeArrivals(
      NO_CHANGES,
      [run("f", 6), run("e", 5, "error")],
      list(rows, { isNewestFirst: false }),
    );
    expect(live.fresh.size).toBe(0);
    expect(live.changed.get("e")?.status).toBe("error");
  });
  it("updates a run that leaves the filtered status, and counts none of other statuses", () => {
    const running = list([run("e", 5, "running")], { status: ["running"] });
    const live = mergeArrivals(
      NO_CHANGES,
      [run("e", 5, "ok"), run("f", 6, "running"), run("g", 7, "ok")],
      running,
    );
    expect(live.changed.get("e")?.status).toBe("ok");
    expect([...live.fresh]).toEqual(["f"]);
    expect(mergeArrivals(live, [run("f", 6, "ok")], running).fresh.size).toBe(0);
  });
});
