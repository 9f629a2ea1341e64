import type { Judge, JudgeRead, JudgeScale, Panel, PanelRead, Provider, ReadyMadeJudge } from "@/api/types";
import { type DraftModel, emptyModel, newId } from "@/components/editor/draft";
import type { PromptChoice } from "@/components/PromptPicker";

/** What a judge is told to look at: a rubric, or a prompt of the registry. */
export interface Criteria {
  /** The ready-made judge that the rubric was taken from; null for an own one. */
  readyMade: ReadyMadeJudge | null;
  rubric: string;
  /** Instead of the rubric. */
  prompt: PromptChoice | null;
}

/** A scale while it is edited. Numbers are texts. */
export interface ScaleDraft {
  type: JudgeScale["type"];
  /** An ordinal scale has labels instead of numbers. */
  isLabelled: boolean;
  min: string;
  max: string;
  labels: string[];
  /** The lowest number, or of ordered labels the lowest label, that passes; empty for none. */
  passFrom: string;
  /** The categories that pass. */
  passLabels: string[];
}

export interface JudgeDraft {
  id: string;
  /** Empty for the name of its model. */
  name: string;
  model: DraftModel;
  /** Empty for those of the panel. */
  repeats: string;
  /** Null for what the panel has. */
  own: Criteria | null;
}

/** What passes: the lowest number or label, or a list of categories. */
export type Pass = number | string | string[];

export type PanelKind = Panel["kind"];
export type Aggregate = NonNullable<Panel["aggregate"]>;

/** A panel while it is edited. */
export interface PanelDraft {
  id: string;
  name: string;
  kind: PanelKind;
  criteria: Criteria;
  scale: ScaleDraft;
  /** Empty for the default of the scale. */
  aggregate: Aggregate | "";
  repeats: string;
  judges: JudgeDraft[];
  escalation: JudgeDraft | null;
}

const emptyScale: ScaleDraft = {
  type: "binary",
  isLabelled: false,
  min: "1",
  max: "5",
  labels: [],
  passFrom: "",
  passLabels: [],
};

const PREFERENCE = `Which of the two answers serves the user better?

- An answer that is correct and complete is better than one that is not.
- Do not prefer an answer because it is longer, more confident, or better formatted.
- If both serve the user equally well, say that it is a tie.`;

export function newJudge(provider?: Provider): JudgeDraft {
  return {
    id: newId(),
    name: "",
    model: { ...emptyModel, providerId: provider?.id ?? "" },
    repeats: "",
    own: null,
  };
}

/** A panel with one judge, and a name that nothing else has. */
export function newPanel(
  kind: PanelKind,
  providers: readonly Provider[],
  taken: readonly string[],
): PanelDraft {
  return {
    id: newId(),
    name: freeName(kind === "score" ? "quality" : "preference", taken),
    kind,
    criteria: { readyMade: null, rubric: kind === "preference" ? PREFERENCE : "", prompt: null },
    scale: emptyScale,
    aggregate: "",
    repeats: "1",
    judges: [newJudge(providers[0])],
    escalation: null,
  };
}

/** A panel that starts from a ready-made judge. */
export function readyMadePanel(
  ready: ReadyMadeJudge,
  providers: readonly Provider[],
  taken: readonly string[],
): PanelDraft {
  return {
    ...withReadyMade(newPanel("score", providers, []), ready),
    name: freeName(ready.id, taken),
  };
}

/** A panel with the rubric and the scale of a ready-made judge. */
export function withReadyMade(panel: PanelDraft, ready: ReadyMadeJudge): PanelDraft {
  return {
    ...panel,
    criteria: { readyMade: ready, rubric: ready.rubric, prompt: null },
    scale: scaleDraft(ready.scale, ready.pass),
    aggregate: "",
  };
}

function freeName(name: string, taken: readonly string[]): string {
  let free = name;
  for (let number = 2; taken.includes(free); number++) free = `${name} ${number}`;
  return free;
}

function scaleDraft(scale: JudgeScale, pass: JudgeRead["pass"]): ScaleDraft {
  return {
    type: scale.type,
    isLabelled: scale.type === "ordinal" && scale.labels !== undefined,
    min: scale.min === undefined ? emptyScale.min : String(scale.min),
    max: scale.max === undefined ? emptyScale.max : String(scale.max),
    labels: scale.labels ?? [],
    passFrom: typeof pass === "number" || typeof pass === "string" ? String(pass) : "",
    passLabels: Array.isArray(pass) ? pass : [],
  };
}

/** The panels of an evaluation, to edit. `catalog` has the ready-made judges. */
export function likePanels(panels: readonly PanelRead[], catalog: readonly ReadyMadeJudge[]): PanelDraft[] {
  return panels.flatMap((panel): PanelDraft[] => {
    const [first] = panel.judges;
    if (!first) return [];
    const criteria = criteriaOf(first, catalog);
    const repeats = mostFrequent(panel.judges.map((judge) => judge.repeats));
    const judge = (read: JudgeRead): JudgeDraft => {
      const own = criteriaOf(read, catalog);
      return {
        id: newId(),
        name: read.name,
        model: modelDraft(read),
        repeats: read.repeats === repeats ? "" : String(read.repeats),
        own: isSame(own, criteria) ? null : own,
      };
    };
    return [
      {
        id: newId(),
        name: panel.name,
        kind: panel.kind,
        criteria,
        scale: first.scale ? scaleDraft(first.scale, first.pass) : emptyScale,
        aggregate: panel.aggregate in AGGREGATES ? (panel.aggregate as Aggregate) : "",
        repeats: String(repeats),
        judges: panel.judges.map(judge),
        escalation: panel.escalation && judge(panel.escalation),
      },
    ];
  });
}

function modelDraft({ provider_id, model_config: config }: JudgeRead): DraftModel {
  const text = (value: number | undefined) => (value === undefined ? "" : String(value));
  return {
    ...emptyModel,
    providerId: provider_id,
    model: config.model ?? "",
    temperature: text(config.temperature),
    topP: text(config.top_p),
    maxOutputTokens: text(config.max_output_tokens),
    stop: config.stop ?? [],
    seed: text(config.seed),
    reasoningEffort: config.reasoning_effort ?? "",
    extra: config.extra ? JSON.stringify(config.extra, null, 2) : "",
  };
}

function criteriaOf(judge: JudgeRead, catalog: readonly ReadyMadeJudge[]): Criteria {
  const known = catalog.find(({ id }) => id === judge.ready_made);
  return {
    readyMade: known && known.rubric === judge.rubric ? known : null,
    rubric: judge.rubric ?? "",
    prompt: judge.prompt && { id: judge.prompt.id, name: judge.prompt.name, version: judge.prompt.version },
  };
}

function isSame(a: Criteria, b: Criteria): boolean {
  if (a.prompt || b.prompt) return a.prompt?.id === b.prompt?.id && a.prompt?.version === b.prompt?.version;
  return a.rubric === b.rubric;
}

function mostFrequent(values: readonly number[]): number {
  const count = (value: number) => values.filter((one) => one === value).length;
  return values.toSorted((a, b) => count(b) - count(a))[0] ?? 1;
}

/** Panels without a judge. A panel that has no other judge is dropped. */
export function withoutJudge(panels: readonly PanelDraft[], panel: string, judge: string): PanelDraft[] {
  return panels.flatMap((one) => {
    if (one.name !== panel) return [one];
    const judges = one.judges.filter(({ name }) => name !== judge);
    const escalation = one.escalation?.name === judge ? null : one.escalation;
    return judges.length === 0 ? [] : [{ ...one, judges, escalation }];
  });
}

/** What a judge is called: its own name, or that of its model. */
export function judgeName({ name, model }: JudgeDraft): string {
  return name.trim() || model.model.trim();
}

export const SCALES: Record<ScaleDraft["type"], { label: string; description: string }> = {
  binary: { label: "Pass or fail", description: "The easiest to agree on" },
  ordinal: { label: "Grades in order", description: "Whole numbers or labels, from the worst to the best" },
  numeric: { label: "A number", description: "Any number between two ends" },
  categorical: { label: "Categories", description: "Labels in no order, such as the kind of mistake" },
};

/** How votes become a score. */
export const AGGREGATES: Record<Aggregate, { label: string; description: string }> = {
  majority: { label: "Majority", description: "The value that most judges give. A tie has no score." },
  mean: {
    label: "Mean",
    description: "The mean of all judges. With pass or fail: the share that lets it pass.",
  },
  minimum: {
    label: "Strictest judge",
    description: "The lowest vote counts. For safety: one judge that objects is enough.",
  },
};

/** What a prompt of the registry gets as variables. Judges of recorded runs have no reference output. */
export function promptVariables(kind: PanelDraft["kind"], isOfRuns: boolean): string[] {
  const outputs = kind === "preference" ? ["first_output", "second_output"] : ["output", "tool_calls"];
  return ["input", ...outputs, ...(isOfRuns ? [] : ["reference_output"]), "metadata"];
}

/** A judge of the request with what the panel has. The scale and `pass` are those of a ready-made judge if they are unchanged. */
export function judgeCriteria(
  criteria: Criteria,
  scale: JudgeScale | null,
  pass: Pass | undefined,
): Pick<Judge, "rubric" | "prompt" | "ready_made" | "scale" | "pass"> {
  const { readyMade, rubric, prompt } = criteria;
  const rest = scale ? { scale, ...(pass !== undefined && { pass }) } : {};
  if (prompt) return { prompt: { id: prompt.id, version: prompt.version }, ...rest };
  const isUnchanged =
    readyMade !== null &&
    scale !== null &&
    rubric === readyMade.rubric &&
    JSON.stringify(scaleDraft(scale, pass ?? null)) ===
      JSON.stringify(scaleDraft(readyMade.scale, readyMade.pass));
  return isUnchanged ? { ready_made: readyMade.id } : { rubric: rubric.trim(), ...rest };
}
