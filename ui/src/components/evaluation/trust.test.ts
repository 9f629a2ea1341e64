import { describe, expect, it } from "vitest";
import type { PanelJudge, PanelSummary, ReliabilityFigure, Vote, VoteCounts } from "@/api/types";
import {
  figureFlag,
  figureText,
  judgeColumns,
  judgeCost,
  panelNotes,
  reliabilityRows,
  savingText,
  stoppedJudges,
  stoppedText,
  withoutText,
} from "./trust";
import { differs, failedVotes, groupVotes, voteParts, votesText, voteText } from "./votes";

const figure = (value: number | null, flag: string | null = null): ReliabilityFigure => ({
  value,
  ci: value === null ? null : [value - 0.1, value + 0.1],
  n: 40,
  flag,
});
const none = figure(null, "not_applicable");

const counts: VoteCounts = {
  total: 120,
  ok: 100,
  parse_error: 3,
  refused: 2,
  off_scale: 1,
  timeout: 4,
  provider_error: 5,
  skipped: 2,
  pending: 3,
  cached: 10,
};

const judge = (name: string, changed: Partial<PanelJudge> = {}) =>
  ({
    name,
    votes: counts,
    flip_rate: none,
    position_consistency: none,
    score: { mean: null, ci: null, n: 0 },
    length_correlation: none,
    cost_usd: 0.12,
    unknown_cost_votes: 0,
    without: null,
    ...changed,
  }) as PanelJudge;

describe("a figure", () => {
  it("has its interval, or why it is missing", () => {
    expect(figureText("coefficient", figure(-0.02))).toBe("−0.02 (−0.12 to 0.08)");
    expect(figureText("share", figure(0.84))).toBe("84\u00a0% (74\u00a0% to 94\u00a0%)");
    expect(figureText("coefficient", figure(null, "no_variation"))).toBe("All values are the same");
    expect(figureText("coefficient", figure(null))).toBe("—");
  });
  it("says what to mind, also if nobody knows the flag", () => {
    expect(figureFlag(figure(0.7, "tentative"))).toMatch(/tentative/);
    expect(figureFlag(figure(0.7, "brand_new"))).toBe("Brand new");
    expect(figureFlag(figure(0.7))).toBeNull();
  });
});

it("figures that don't apply to the scale are left out, missing ones aren't", () => {
  const reliability = {
    scale: "nominal",
    raters: 3,
    items: 40,
    percent_agreement: figure(0.9),
    krippendorff_alpha: figure(0.6),
    gwet_ac: figure(0.8),
    flags: [],
  };
  const rows = reliabilityRows({ reliability } as unknown as PanelSummary);
  expect(rows.map(({ key }) => key)).toEqual(["percent_agreement", "krippendorff_alpha", "gwet_ac"]);
  expect(reliabilityRows({ reliability: null } as PanelSummary)).toEqual([]);
});

describe("judges", () => {
  it("have the columns that say something", () => {
    expect(judgeColumns([judge("a"), judge("b", { length_correlation: figure(0.1) })])).toEqual(["length"]);
    expect(judgeColumns([judge("a", { flip_rate: figure(0.1) })])).toEqual(["consistency"]);
    expect(judgeColumns([judge("a", { score: { mean: 0.8, ci: null, n: 9 } })])).toEqual(["mean"]);
    expect(judgeColumns([judge("a", { flip_rate: figure(null, "too_few") })])).toEqual([]);
  });
  it("that were stopped say how many votes that costs", () => {
    const error = { code: "provider_key_refused", detail: "No." };
    const stopped = { failures: 10, votes: 1200, escalation_votes: 0, error, remedy: "Fix that." };
    expect(stoppedText(stopped)).toBe("Stopped after 10 failures; 1,200 not called");
  });
  it("cost what is known", () => {
    expect(judgeCost(judge("a"))).toBe("$0.120");
    expect(judgeCost(judge("a", { unknown_cost_votes: 2 }))).toBe("$0.120 +");
    expect(judgeCost(judge("a", { cost_usd: 0, unknown_cost_votes: 2 }))).toBe("unknown");
    const unused = { ...counts, total: 5, ok: 0, skipped: 5, pending: 0 };
    expect(judgeCost(judge("a", { votes: unused }))).toBe("—");
  });
  it("can be dropped, and that saves something", () => {
    const without = { score: 0.81, changed: 1, saved_usd: 0.12, saved_share: 0.32 };
    expect(withoutText(without, judge("a"))).toBe("mean 81.0, 1 output changes, saves $0.120 (32\u00a0%)");
    expect(withoutText({ ...without, score: null }, judge("a"))).toBe(
      "1 output changes, saves $0.120 (32\u00a0%)",
    );
    const unknown = judge("a", { unknown_cost_votes: 2 });
    expect(withoutText(without, unknown)).toBe(
      "mean 81.0, 1 output changes, saves $0.120 or more (32\u00a0%)",
    );
    expect(withoutText({ ...without, saved_usd: 0, saved_share: null }, unknown)).toBe(
      "mean 81.0, 1 output changes, saves an unknown amount",
    );
    expect(withoutText({ ...without, score: null }, judge("a"))).toBe(
      "1 output changes, saves $0.120 (32\u00a0%)",
    );
    const panels = [{ name: "correct", judges: [judge("a", { without })] }] as PanelSummary[];
    expect(savingText(panels, { panel: "correct", judge: "a" })).toBe(
      "Without the judge “a” of “correct”. It saves $0.120 of what that evaluation cost, 32\u00a0% of its panel. 1 output has another score there.",
    );
    expect(savingText([], { panel: "correct", judge: "a" })).toBe("Without the judge “a” of “correct”.");
  });
});

it("a panel says what has no score", () => {
  const all = { votes: { ...counts, pending: 0 } };
  const panel = {
    outputs: 80,
    unscored: 2,
    split: 14,
    escalated: 6,
    judges: [judge("a", all), judge("b", all)],
  };
  expect(panelNotes(panel as PanelSummary)).toEqual([
    "78 of 80 outputs have a score; 2 have too few valid votes, or a tie.",
    "The judges split on 14 (18\u00a0%).",
    "The judge for splits decided 6.",
  ]);
  const stopped = { ...panel, judges: [judge("a", { votes: { ...counts, pending: 3 } }), judge("b", all)] };
  expect(panelNotes(stopped as PanelSummary)[0]).toBe(
    "78 of 80 outputs have a score; 2 have votes missing, too few valid votes, or a tie.",
  );
});

describe("votes", () => {
  it("add up", () => {
    const sum = voteParts(counts).reduce((total, { count }) => total + count, 0);
    expect(sum).toBe(counts.total);
    expect(failedVotes(counts)).toBe(15);
    expect(
      votesText({
        ...counts,
        total: 103,
        refused: 0,
        off_scale: 0,
        timeout: 0,
        provider_error: 0,
        skipped: 0,
        pending: 0,
      }),
    ).toBe("100 of 103 valid, 3 unreadable");
  });

  const vote = (of: string, value: number, changed: Partial<Vote> = {}) =>
    ({
      panel: "p",
      judge: of,
      escalated: false,
      status: "ok",
      value,
      label: null,
      order: null,
      ...changed,
    }) as Vote;

  it("are beside each other by judge, those of an escalation last", () => {
    const [panel] = groupVotes([
      vote("boss", 3, { escalated: true }),
      vote("a", 4),
      vote("b", 2),
      vote("a", 5),
    ]);
    expect(panel?.judges.map(({ judge: of, votes }) => [of, votes.length])).toEqual([
      ["a", 2],
      ["b", 1],
      ["boss", 1],
    ]);
  });

  it("differ only where valid ones do", () => {
    const differ = (...votes: Vote[]) => differs(groupVotes(votes)[0]?.judges ?? []);
    expect(differ(vote("a", 4), vote("b", 2))).toBe(true);
    expect(differ(vote("a", 4), vote("b", 2, { status: "parse_error" }))).toBe(false);
  });

  it("are read in words", () => {
    expect(voteText({ label: "b", value: null, order: "ba" })).toBe("B is better");
    expect(voteText({ label: null, value: 0.1 + 0.2, order: null })).toBe("0.3");
  });
});

it("says which judges were stopped, and not where votes are missing for another reason", () => {
  const why = {
    failures: 10,
    votes: 44,
    escalation_votes: 0,
    error: { code: "model_not_found", detail: "There is no model x." },
    remedy: "Name another one.",
  };
  const stopped = judge("a", { votes: { ...counts, provider_error: 16, pending: 44 }, stopped: why });
  const panels = [
    {
      name: "correct",
      judges: [stopped, judge("b", { votes: { ...counts, provider_error: 3, pending: 5 }, stopped: null })],
    },
  ] as PanelSummary[];
  expect(stoppedJudges({ summary: { panels } })).toEqual([{ panel: "correct", judge: "a", stopped: why }]);
  expect(stoppedJudges({ summary: null })).toEqual([]);
});
