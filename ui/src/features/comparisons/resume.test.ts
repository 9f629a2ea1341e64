import { expect, it } from "vitest";
import type { Comparison } from "@/api/types";
import { isResumable, missingWork } from "./resume";

const comparison = (counts: object, [a, b]: (string | null)[], reason: string | null = null) =>
  ({
    accounting: { outputs_pending: 0, outputs_failed: 0, votes: null, ...counts },
    a: { eval_run_id: a },
    b: { eval_run_id: b },
    stop_reason: reason,
  }) as unknown as Comparison;

it.each([
  [{ outputs_failed: 2 }, [null, null], null, true],
  [{ outputs_failed: 2 }, [null, "r2"], null, true],
  [{ outputs_failed: 2 }, ["r1", "r2"], null, false],
  [{ outputs_pending: 1 }, ["r1", "r2"], null, true],
  [
    { votes: { pending: 0, ok: 1, parse_error: 0, refused: 0, off_scale: 0, timeout: 3, provider_error: 0 } },
    ["r1", "r2"],
    null,
    true,
  ],
  [{ outputs_pending: 9 }, [null, null], "decided", false],
  [{ outputs_pending: 9 }, [null, null], "max_cost", true],
  [{}, [null, null], null, false],
])("%j of %j, stopped by %s: resumable %s", (counts, sides, reason, want) => {
  expect(isResumable(comparison(counts, sides, reason))).toBe(want);
});

it("makes only failed votes again where both sides are eval-runs", () => {
  const votes = {
    pending: 4,
    ok: 1,
    parse_error: 1,
    refused: 1,
    off_scale: 0,
    timeout: 0,
    provider_error: 0,
  };
  expect(missingWork(comparison({ outputs_failed: 2, votes }, ["r1", "r2"]))).toEqual({
    outputs: 0,
    failedOutputs: 0,
    votes: 4,
    failedVotes: 2,
  });
});
