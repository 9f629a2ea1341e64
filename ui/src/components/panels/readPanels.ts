import type { Judge, JudgeScale, Panel } from "@/api/types";
import { emptyDraft, readDraft } from "@/components/editor/draft";
import { type FormErrors, readNumber } from "@/components/formErrors";
import {
  type Criteria,
  type JudgeDraft,
  judgeCriteria,
  judgeName,
  type PanelDraft,
  type Pass,
  type ScaleDraft,
} from "./panelDraft";

/** The panels of a request. What is wrong goes to `errors`, at the locations that the API has: "body.panels[0].judges[1].rubric". */
export function readPanels(
  panels: readonly PanelDraft[],
  graders: readonly string[],
  errors: FormErrors,
): Panel[] {
  const names = panels.map(({ name }) => name.trim());
  return panels.map((panel, index) => {
    const at = `body.panels[${index}]`;
    const name = names[index] ?? "";
    if (name === "") errors[`${at}.name`] = "Name the score.";
    else if (names.indexOf(name) < index) errors[`${at}.name`] = "Another panel has this name.";
    else if (graders.includes(name)) errors[`${at}.name`] = "A grader has this name.";
    return readPanel(panel, at, errors);
  });
}

function readPanel(panel: PanelDraft, at: string, errors: FormErrors): Panel {
  const judgesAt = `${at}.judges`;
  const isScore = panel.kind === "score";
  const scale = isScore ? readScale(panel.scale, `${at}.scale`, errors) : null;
  const pass = isScore ? readPass(panel.scale, `${at}.pass`, errors) : undefined;
  const readCriteria = (judge: JudgeDraft, of: string) => {
    const criteria = judge.own ?? panel.criteria;
    checkCriteria(criteria, judge.own ? of : at, errors);
    return judgeCriteria(criteria, scale, pass);
  };
  const names = panel.judges.map(judgeName);
  const judges = panel.judges.map((judge, index) => {
    const of = `${judgesAt}[${index}]`;
    if (names.indexOf(names[index] ?? "") < index && names[index] !== "")
      errors[`${of}.name`] = "Another judge of the panel has this name.";
    return { ...readJudge(judge, of, errors), ...readCriteria(judge, of) };
  });
  if (judges.length === 0) errors[judgesAt] = "Choose at least one judge.";
  const escalation = panel.escalation;
  if (escalation && names.includes(judgeName(escalation)) && judgeName(escalation) !== "")
    errors[`${at}.escalation.name`] = "Another judge of the panel has this name.";
  const repeats = readNumber(errors, `${at}.repeats`, panel.repeats || "1", isRepeats, REPEATS);
  return {
    name: panel.name.trim(),
    kind: panel.kind,
    judges,
    ...(isScore && panel.aggregate !== "" && { aggregate: panel.aggregate }),
    repeats: repeats ?? 1,
    ...(escalation && {
      escalation: {
        ...readJudge(escalation, `${at}.escalation`, errors),
        ...readCriteria(escalation, `${at}.escalation`),
      },
    }),
  };
}

const REPEATS = "A whole number from 1 to 10.";
const isRepeats = (value: number) => Number.isInteger(value) && value >= 1 && value <= 10;

/** The name, the model and the repeats of a judge. */
function readJudge(
  judge: JudgeDraft,
  at: string,
  errors: FormErrors,
): Pick<Judge, "name" | "provider_id" | "model_config" | "repeats"> {
  const { content, errors: wrong } = readDraft({ ...emptyDraft(), messages: [], model: judge.model });
  for (const { at: member, message } of wrong) errors[`${at}.model_config.${member}`] = message;
  const { provider_id: providerId = "", ...model } = content.model_config ?? {};
  if (providerId === "") errors[`${at}.provider_id`] = "Choose a connection.";
  if (!model.model) errors[`${at}.model_config.model`] = "Choose a model.";
  const repeats = readNumber(errors, `${at}.repeats`, judge.repeats, isRepeats, REPEATS);
  return {
    name: judgeName(judge),
    provider_id: providerId,
    model_config: model,
    ...(repeats !== undefined && { repeats }),
  };
}

function checkCriteria({ rubric, prompt }: Criteria, at: string, errors: FormErrors): void {
  if (prompt?.id === "") errors[`${at}.prompt`] = "Choose a prompt.";
  if (!prompt && rubric.trim() === "")
    errors[`${at}.rubric`] = "Write a rubric, or start from a ready-made one.";
  else if (!prompt && rubric.trim().length > 20_000) errors[`${at}.rubric`] = "At most 20,000 characters.";
}

function readScale(draft: ScaleDraft, at: string, errors: FormErrors): JudgeScale {
  const { type } = draft;
  if (type === "binary") return { type };
  if (type === "categorical" || draft.isLabelled) {
    const labels = draft.labels.map((label) => label.trim()).filter((label) => label !== "");
    if (labels.length < 2) errors[`${at}.labels`] = "Name at least two labels.";
    else if (new Set(labels).size < labels.length) errors[`${at}.labels`] = "Two labels are the same.";
    return { type, labels };
  }
  const isWhole = type === "ordinal";
  const message = isWhole ? "A whole number." : "A number.";
  const read = (place: string, text: string) =>
    readNumber(errors, place, text, (n) => !isWhole || Number.isInteger(n), message);
  const min = read(`${at}.min`, draft.min);
  const max = read(`${at}.max`, draft.max);
  if (draft.min.trim() === "") errors[`${at}.min`] = "Fill in the lowest value.";
  if (draft.max.trim() === "") errors[`${at}.max`] = "Fill in the highest value.";
  if (min !== undefined && max !== undefined && min >= max)
    errors[`${at}.max`] = "It must be above the lowest.";
  return { type, min, max };
}

function readPass(draft: ScaleDraft, at: string, errors: FormErrors): Pass | undefined {
  const { type, isLabelled, passLabels, labels, passFrom, min, max } = draft;
  if (type === "binary") return undefined;
  if (type === "categorical") {
    const known = passLabels.filter((label) => labels.includes(label));
    return known.length === 0 ? undefined : known;
  }
  if (isLabelled) return labels.includes(passFrom) ? passFrom : undefined;
  const isWithin = (n: number) =>
    n >= Number(min) && n <= Number(max) && (type !== "ordinal" || Number.isInteger(n));
  return readNumber(errors, at, passFrom, isWithin, `A number from ${min} to ${max}.`);
}
