import type { PanelJudge, PanelSummary, Reliability, ReliabilityFigure } from "@/api/types";
import { formatCost, formatCount, formatCountOf, formatPercent, NONE } from "@/components/format";
import { formatValue, intervalText } from "./measures";

/** How a figure of reliability is written. */
export type FigureKind = "share" | "coefficient";

/** A figure for people: shares in percent, coefficients with two digits. */
export function formatFigure(kind: FigureKind, value: number): string {
  switch (kind) {
    case "share":
      return formatPercent(value);
    case "coefficient":
      return value.toFixed(2).replace("-", "−");
  }
}

const WHY_NONE: Record<string, string> = {
  no_variation: "All values are the same",
  too_few: "Too few",
  not_applicable: "Doesn't apply",
  needs_labels: "Needs labels",
  not_drawn: "The labelled items weren't drawn at random",
  grouped: "Labels correct nothing in groups",
  out_of_domain: "Can't be calculated from these votes",
};

const TO_MIND: Record<string, string> = {
  few_items: "Few items: the interval may be too narrow",
  few_raters: "Few judges",
  tentative: "Good for tentative conclusions only",
  unusable: "Too low to rely on",
  prevalence: "Nearly all values are the same, so this says little",
  against_panel: "Against the panel without this judge, because there are too few labels",
  subsampled: "From a sample of the outputs",
};

/** Why a figure is missing, or what to mind about it; null for nothing. */
export function figureFlag({ value, flag }: ReliabilityFigure): string | null {
  if (flag === null) return null;
  return (value === null ? WHY_NONE[flag] : TO_MIND[flag]) ?? WHY_NONE[flag] ?? TO_MIND[flag] ?? plain(flag);
}

function plain(flag: string): string {
  const words = flag.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A figure in one line: "0.83 (0.78 to 0.87)", or why there is none. */
export function figureText(kind: FigureKind, figure: ReliabilityFigure): string {
  if (figure.value === null) return figureFlag(figure) ?? NONE;
  const interval = intervalText(figure.ci, (value) => formatFigure(kind, value));
  return formatFigure(kind, figure.value) + (interval === null ? "" : ` (${interval})`);
}

/** A figure of reliability with what it means. */
export interface FigureRow {
  key: string;
  label: string;
  meaning: string;
  kind: FigureKind;
  figure: ReliabilityFigure;
}

const MEANINGS: readonly [
  Exclude<keyof Reliability, "scale" | "raters" | "items" | "flags">,
  string,
  FigureKind,
  string,
][] = [
  [
    "percent_agreement",
    "Agreement",
    "share",
    "How often two judges give an output the same value. It looks high if nearly all outputs get the same value anyway.",
  ],
  [
    "krippendorff_alpha",
    "Krippendorff's alpha",
    "coefficient",
    "Agreement beyond chance, with missing votes: 1 is perfect, 0 is chance. Below 0.667 it is too low to rely on, from 0.8 it is good. Judges that make the same mistakes agree, too.",
  ],
  [
    "gwet_ac",
    "Gwet's AC",
    "coefficient",
    "Agreement beyond chance that stays fair when nearly all outputs get the same value. Compare it with alpha: if alpha alone is low, that is why.",
  ],
];

/** The figures of a panel that apply to its scale. */
export function reliabilityRows({ reliability }: PanelSummary): FigureRow[] {
  if (reliability === null) return [];
  return MEANINGS.map(([key, label, kind, meaning]) => ({
    key,
    label,
    kind,
    meaning,
    figure: reliability[key],
  })).filter(({ figure }) => figure.value !== null || figure.flag !== "not_applicable");
}

/** The columns of the table of judges that say something for at least one of them. */
export type JudgeColumn = "mean" | "consistency" | "position" | "length" | "without";

export function judgeColumns(judges: readonly PanelJudge[]): JudgeColumn[] {
  const applies = ({ value }: ReliabilityFigure) => value !== null;
  const columns: [JudgeColumn, (judge: PanelJudge) => boolean][] = [
    ["mean", ({ score }) => score.mean !== null],
    ["consistency", (judge) => applies(judge.flip_rate)],
    ["position", (judge) => applies(judge.position_consistency)],
    ["length", (judge) => applies(judge.length_correlation)],
    ["without", (judge) => judge.without !== null],
  ];
  return columns.filter(([, has]) => judges.some(has)).map(([name]) => name);
}

/** What a judge cost: "$0.12", and a plus for votes of unknown cost. */
export function judgeCost({ cost_usd: cost, unknown_cost_votes: unknown, votes }: PanelJudge): string {
  const made = votes.total - votes.skipped - votes.pending;
  if (made === 0) return NONE;
  if (unknown > 0 && cost === 0) return "unknown";
  return formatCost(cost) + (unknown > 0 ? " +" : "");
}

/** Why votes of a judge are missing: "Stopped after 10 failures; 47 not called". */
export function stoppedText({ failures, votes }: NonNullable<PanelJudge["stopped"]>): string {
  return `Stopped after ${formatCountOf(failures, "failure")}; ${formatCount(votes)} not called`;
}

/** What would be without a judge: "mean 81.0, 3 outputs change, saves $0.12 (32 %)". Costs that are unknown are no $0, and categories have no mean. */
export function withoutText(
  without: NonNullable<PanelJudge["without"]>,
  { unknown_cost_votes: unknown }: Pick<PanelJudge, "unknown_cost_votes">,
): string {
  const { score, changed, saved_usd: usd, saved_share: share } = without;
  const outputs =
    changed === 0
      ? "no output changes"
      : `${formatCount(changed)} ${changed === 1 ? "output changes" : "outputs change"}`;
  const known = `saves ${formatCost(usd)}${unknown > 0 ? " or more" : ""}${share === null ? "" : ` (${formatPercent(share)})`}`;
  const saves = unknown > 0 && usd === 0 ? "saves an unknown amount" : known;
  return [...(score === null ? [] : [`mean ${formatValue("score", score)}`]), outputs, saves].join(", ");
}

/** What a form without a judge of a panel says. */
export function savingText(
  panels: readonly PanelSummary[],
  { panel, judge }: { panel: string; judge: string },
): string {
  const of = panels.find(({ name }) => name === panel);
  const without = of?.judges.find(({ name }) => name === judge)?.without;
  const start = `Without the judge “${judge}” of “${panel}”.`;
  if (!without) return start;
  const { changed, saved_usd: usd, saved_share: share } = without;
  const outputs = changed === 1 ? "1 output has" : `${formatCount(changed)} outputs have`;
  const saves =
    usd === 0 && share === null
      ? ""
      : ` It saves ${formatCost(usd)} of what that evaluation cost${share === null ? "" : `, ${formatPercent(share)} of its panel`}.`;
  return `${start}${saves} ${changed === 0 ? "No output had another score there." : `${outputs} another score there.`}`;
}

/** A judge that was asked no more. */
export interface StoppedJudge {
  panel: string;
  judge: string;
  stopped: NonNullable<PanelJudge["stopped"]>;
}

/** The judges that were stopped, because they failed again and again in a way that only a person can fix. */
export function stoppedJudges({
  summary,
}: {
  summary: { panels: readonly PanelSummary[] } | null;
}): StoppedJudge[] {
  return (summary?.panels ?? []).flatMap(({ name: panel, judges }) =>
    judges.flatMap(({ name: judge, stopped }) => (stopped === null ? [] : [{ panel, judge, stopped }])),
  );
}

/** Scores of a panel that are missing, and what decided the others, in sentences. */
export function panelNotes(panel: PanelSummary): string[] {
  const { outputs, unscored, split, escalated } = panel;
  const isPending = panel.judges.some(({ votes }) => votes.pending > 0);
  const notes = [
    `${formatCount(outputs - unscored)} of ${formatCount(outputs)} ${outputs === 1 ? "output" : "outputs"} have a score${
      unscored === 0
        ? ""
        : `; ${formatCount(unscored)} have ${isPending ? "votes missing, " : ""}too few valid votes, or a tie`
    }.`,
  ];
  if (panel.judges.length > 1)
    notes.push(
      split === 0
        ? "The judges never split."
        : `The judges split on ${formatCount(split)}${outputs > 0 ? ` (${formatPercent(split / outputs)})` : ""}.`,
    );
  if (escalated > 0) notes.push(`The judge for splits decided ${formatCount(escalated)}.`);
  return notes;
}
