import { describe, expect, it } from "vitest";
import { replayOf } from "./replayOf";

const id = "01985f6e-0000-7000-8000-000000000009";

describe("replayOf", () => {
  it("reads what a replay wrote", () =>
    expect(
      replayOf({
        source: "replay",
        metadata: { replay_id: id, replay_of: id, replay_role: "control", replay_attempt: "3" },
      }),
    ).toEqual({ replayId: id, runId: id, role: "control", attempt: 3 }));
  it("believes no other source, and no other text", () => {
    expect(replayOf({ source: "user", metadata: { replay_id: id } })).toBeNull();
    expect(replayOf({ source: "replay", metadata: { replay_id: "../x" } })).toBeNull();
  });
});
