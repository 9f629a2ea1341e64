import { describe, expect, it } from "vitest";
import { pathOf, progressText, waitText } from "./words";

describe("waitText", () => {
  it("says what work waits for", () => {
    const turn = { for: "turn", until: null, running: 16, ahead: 3 } as const;
    expect(waitText(turn)).toBe("Waits for its turn, after 3 older: 16 of this project run");
    expect(waitText({ ...turn, running: 1, ahead: 0 })).toBe("Waits for its turn: 1 of this project runs");
    expect(waitText({ ...turn, running: 0, ahead: 0 })).toBe("Waits for a place");
    expect(waitText({ ...turn, for: "retry" })).toContain("failed");
    expect(waitText({ ...turn, for: "provider" })).toBe("The provider takes no calls now. Goes on");
  });
});

it("does not invent a total", () => {
  expect(progressText({ progress: { unit: "rows", done: 1200, total: null } })).toBe("1,200 rows");
  expect(progressText({ progress: { unit: "outputs", done: 0, total: 1 } })).toBe("0 of 1 output");
});

it("counts the votes of judges, as the page of the work does", () => {
  expect(progressText({ progress: { unit: "outputs_and_votes", done: 120, total: 480 } })).toBe(
    "120 of 480 outputs and votes",
  );
});

it("leads to the page of each kind", () => {
  expect(pathOf({ id: "i", kind: "import", dataset_id: "d" })).toBe("datasets/d/imports/i");
  expect(pathOf({ id: "r", kind: "replay", dataset_id: null })).toBe("replays/r");
  expect(pathOf({ id: "b", kind: "replay_batch", dataset_id: null })).toBe("replay-batches/b");
  expect(pathOf({ id: "d", kind: "diagnosis", dataset_id: null })).toBe("diagnoses/d");
});
