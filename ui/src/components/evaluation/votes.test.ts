import { expect, it } from "vitest";
import type { EvaluationScore } from "@/api/types";
import { panelScoreText } from "./votes";

const score = (changed: object) =>
  ({
    name: "tone",
    score: null,
    pass: null,
    reason: "",
    error: null,
    evidence: { label: "" },
    ...changed,
  }) as unknown as EvaluationScore;

it.each([
  [{ score: 0.8, pass: true, evidence: { label: "good" } }, "80.0, pass"],
  [{ score: 0.2, pass: false }, "20.0, fail"],
  [{ score: 0.5 }, "50.0"],
  [{ reason: "The judges are tied." }, "no score: The judges are tied."],
  [{ error: "1 of 3 judges gave a valid vote." }, "no score: 1 of 3 judges gave a valid vote."],
  [{ reason: "3 of 3 judges.", evidence: { label: "formal" } }, "formal"],
])("a panel says %j: %s", (changed, want) => expect(panelScoreText(score(changed))).toBe(want));
