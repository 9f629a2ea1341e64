import type { ComparisonDraft } from "@/api/comparisons";
import type {
  Comparison,
  ComparisonConfig,
  ComparisonSide,
  Dataset,
  Grader,
  PromptVersion,
  ReadyMadeJudge,
} from "@/api/types";
import {
  type Draft,
  type DraftError,
  draftOf,
  emptyDraft,
  emptyModel,
  isObject,
  newId,
  pretty,
  readDraft,
} from "@/components/editor/draft";
import { setWithout } from "@/components/evalRunStart";
import { errorsBelow, type FormErrors, readNumber } from "@/components/formErrors";
import type { PromptChoice } from "@/components/PromptPicker";
import { likePanels, type PanelDraft } from "@/components/panels/panelDraft";
import { readPanels } from "@/components/panels/readPanels";
import { placeholdersOf, variablesOf } from "@/components/template";
import { problemsOf } from "./graderMembers";

export { errorsBelow, type FormErrors };

/** One configuration while it is edited. */
export interface SideDraft {
  name: string;
  /** Null for messages of its own. */
  prompt: PromptChoice | null;
  /** Messages, tools and response format count without a prompt. The parameters win over those of the prompt. */
  content: Draft;
  /** What replaces the tools and the response format of the prompt. */
  replaced: Pick<ComparisonConfig, "tools" | "response_format">;
  /** Paths by the names of variables and placeholders; empty for the member of the input. */
  paths: Record<string, string>;
}

export interface GraderDraft {
  id: string;
  name: string;
  /** JSON without the name. */
  json: string;
  /** Texts of fields that aren't the JSON they should be, by their places: `schema`, `graders[0].schema`. */
  broken?: Record<string, string>;
}

/** A comparison while it is edited. Numbers are texts. */
export interface NewComparison {
  name: string;
  dataset: Dataset | null;
  /** Empty for the newest. */
  revision: string;
  split: string;
  a: SideDraft;
  b: SideDraft;
  repeats: string;
  graders: GraderDraft[];
  panels: PanelDraft[];
  /** Empty for the first panel, else the first grader. */
  primary: string;
  /** In points. */
  margin: string;
  stopEarly: boolean;
  /** Dollars; empty for none. */
  maxCost: string;
  allowUnpriced: boolean;
  skipIncompatible: boolean;
}

export function emptySide(): SideDraft {
  return { name: "", prompt: null, content: emptyDraft(), replaced: {}, paths: {} };
}

export function emptyComparison(): NewComparison {
  return {
    name: "",
    dataset: null,
    revision: "",
    split: "",
    a: emptySide(),
    b: emptySide(),
    repeats: "1",
    graders: [],
    panels: [],
    primary: "",
    margin: "",
    stopEarly: false,
    maxCost: "",
    allowUnpriced: false,
    skipIncompatible: false,
  };
}

/** A configuration to edit. */
export function sideOf(config: ComparisonConfig): SideDraft {
  const content = draftOf({
    messages: config.messages ?? [],
    tools: config.prompt ? [] : (config.tools ?? []),
    response_format: config.prompt ? null : (config.response_format ?? null),
    model_config: { ...config.model_config, provider_id: config.provider_id },
    template_format: config.template_format ?? "mustache",
    variables: {},
    missing: "error",
  } as unknown as PromptVersion);
  const { id, name, version } = config.prompt ?? {};
  const isPrompt = id !== undefined && version !== undefined;
  return {
    name: config.name ?? "",
    prompt: isPrompt ? { id, name: name ?? "", version } : null,
    content: content.messages.length > 0 ? content : { ...content, messages: emptyDraft().messages },
    replaced: isPrompt
      ? {
          ...(config.tools && { tools: config.tools }),
          ...(config.response_format && { response_format: config.response_format }),
        }
      : {},
    paths: { ...config.variables_map },
  };
}

/** A configuration of a comparison, as it was requested. */
export function configOf(side: ComparisonSide): ComparisonConfig {
  const { prompt, provider, model_config, variables_map, messages, tools, response_format, template_format } =
    side;
  const rest = {
    ...(provider && { provider_id: provider.id }),
    model_config,
    variables_map,
    ...(tools && tools.length > 0 && { tools }),
    ...(response_format && { response_format }),
  };
  return prompt ? { ...rest, prompt } : { ...rest, messages, template_format };
}

/** A comparison like one that is there. */
export function likeComparison(
  comparison: Comparison,
  dataset: Dataset | null,
  catalog: readonly ReadyMadeJudge[] = [],
): NewComparison {
  return {
    ...emptyComparison(),
    dataset,
    revision: String(comparison.dataset.revision),
    split: comparison.dataset.split ?? "",
    a: sideOf(configOf(comparison.a)),
    b: sideOf(configOf(comparison.b)),
    repeats: String(comparison.repeats),
    graders: comparison.graders.map(graderDraft),
    panels: likePanels(comparison.panels, catalog),
    primary: comparison.primary_metric ?? "",
    margin:
      comparison.equivalence_margin === null
        ? ""
        : String(Number((comparison.equivalence_margin * 100).toPrecision(12))),
    stopEarly: comparison.stop_early,
    maxCost: comparison.max_cost_usd === null ? "" : String(comparison.max_cost_usd),
    allowUnpriced: comparison.allow_unpriced,
    skipIncompatible: comparison.on_incompatible === "skip",
  };
}

/** The address of the form of a comparison like one that is there, without a judge. */
export function withoutPath(
  { id, project_id: projectId }: Pick<Comparison, "id" | "project_id">,
  panel: string,
  judge: string,
): string {
  const query = new URLSearchParams({ from: id });
  setWithout(query, { panel, judge });
  return `/p/${projectId}/comparisons/new?${query}`;
}

export function graderDraft({ name, ...definition }: Grader): GraderDraft {
  return { id: newId(), name: name ?? definition.type, json: pretty(definition) };
}

/** The content of a side: that of its prompt with its own parameters, or its own. Undefined until the prompt is loaded. */
export function contentOf(side: SideDraft, version: PromptVersion | undefined): Draft | undefined {
  if (side.prompt === null) return side.content;
  return version && { ...draftOf(version), model: draftOf(version).model };
}

/** The variables and placeholders that need values of an item. */
export function namesOf(content: Draft): string[] {
  const read = readDraft(content).content;
  const variables = variablesOf({ messages: read.messages, template_format: content.format });
  return [...new Set([...variables, ...placeholdersOf(read)])];
}

/** The connection of a side: the chosen one, that of its prompt, or the only one. */
export function providerOf(
  side: SideDraft,
  version: PromptVersion | undefined,
  providers: readonly { id: string }[],
): string {
  const known = (id: string | undefined) => (providers.some((one) => one.id === id) ? id : undefined);
  const only = providers.length === 1 ? providers[0]?.id : undefined;
  const ofPrompt = side.prompt ? version?.model_config.provider_id : undefined;
  return known(side.content.model.providerId) ?? known(ofPrompt ?? undefined) ?? only ?? "";
}

export type Side = "a" | "b";

/** A side with what follows from it. */
export interface ReadySide {
  side: SideDraft;
  version: PromptVersion | undefined;
  providerId: string;
}

/** The model of a side: the chosen one, or that of its prompt. Empty if there is none. */
export function modelOf({ side, version }: ReadySide): string {
  return side.content.model.model.trim() || (side.prompt && version?.model_config.model) || "";
}

/** The request of a comparison. Null while something is missing, which `errors` says. */
export function requestOf(
  projectId: string,
  draft: NewComparison,
  sides: Record<Side, ReadySide>,
): { body: ComparisonDraft | null; errors: FormErrors } {
  const errors: FormErrors = {};
  const a = configFrom("body.a", sides.a, errors);
  const b = configFrom("body.b", sides.b, errors);
  const graders = draft.graders.flatMap((grader, index) =>
    readGrader(grader, `body.graders[${index}]`, errors),
  );
  const names = draft.graders.map(({ name }) => name.trim());
  for (const [index, name] of names.entries()) {
    if (name === "") errors[`body.graders[${index}].name`] = "Name the grader.";
    else if (names.indexOf(name) < index)
      errors[`body.graders[${index}].name`] = "Another grader has this name.";
  }
  const panels = readPanels(draft.panels, names, errors);
  if (!draft.dataset) errors["body.dataset_id"] = "Choose a dataset.";
  const number = (at: string, text: string, isValid: (value: number) => boolean, message: string) =>
    readNumber(errors, at, text, isValid, message);
  const isWhole = Number.isInteger;
  const revision = number("body.revision", draft.revision, (n) => isWhole(n) && n >= 0, "A whole number.");
  const repeats = number(
    "body.repeats",
    draft.repeats || "1",
    (n) => isWhole(n) && n >= 1 && n <= 100,
    "A whole number from 1 to 100.",
  );
  const margin = number(
    "body.equivalence_margin",
    draft.margin,
    (n) => n >= 0.01 && n <= 100,
    "A number of points from 0.01 to 100.",
  );
  const maxCost = number("body.max_cost_usd", draft.maxCost, (n) => n > 0, "A number of dollars above 0.");
  if (draft.stopEarly && graders.length + panels.length === 0)
    errors["body.stop_early"] = "This needs a grader or judges that decide.";
  if (!a || !b || !draft.dataset || Object.keys(errors).length > 0) return { body: null, errors };
  const body: ComparisonDraft = {
    project_id: projectId,
    ...(draft.name.trim() !== "" && { name: draft.name.trim() }),
    dataset_id: draft.dataset.id,
    ...(revision !== undefined && { revision }),
    ...(draft.split.trim() !== "" && { split: draft.split.trim() }),
    a,
    b,
    repeats,
    graders,
    ...(panels.length > 0 && { panels }),
    ...([...names, ...panels.map(({ name }) => name)].includes(draft.primary) && {
      primary_metric: draft.primary,
    }),
    ...(margin !== undefined && { equivalence_margin: margin / 100 }),
    stop_early: draft.stopEarly,
    on_incompatible: draft.skipIncompatible ? "skip" : "refuse",
    ...(maxCost !== undefined && { max_cost_usd: maxCost }),
    allow_unpriced: draft.allowUnpriced,
  };
  return { body, errors };
}

export function configFrom(at: string, { side, version, providerId }: ReadySide, errors: FormErrors) {
  const { name, prompt, content, replaced, paths } = side;
  if (providerId === "") errors[`${at}.provider_id`] = "Choose a connection.";
  if (prompt && !version) errors[`${at}.prompt`] = "The prompt isn't loaded.";
  const read = readDraft(prompt ? { ...emptyDraft(), model: content.model } : content);
  const mine = prompt ? read.errors.filter(isOfModel) : read.errors;
  for (const error of mine) errors[locationOf(at, error)] = error.message;
  const { provider_id: _, ...model } = read.content.model_config ?? {};
  if (!model.model && !(prompt && version?.model_config.model))
    errors[`${at}.model_config.model`] = "Choose a model.";
  const used = prompt ? (version ? namesOf(draftOf(version)) : []) : namesOf(content);
  const map = Object.fromEntries(
    Object.entries(paths).filter(([variable, path]) => used.includes(variable) && path.trim() !== ""),
  );
  const config: ComparisonConfig = {
    ...(name.trim() !== "" && { name: name.trim() }),
    ...(prompt
      ? { prompt: { id: prompt.id, version: prompt.version }, ...replaced }
      : {
          messages: read.content.messages,
          template_format: content.format,
          ...(content.tools.length > 0 && { tools: read.content.tools }),
          ...(read.content.response_format && { response_format: read.content.response_format }),
        }),
    provider_id: providerId,
    model_config: model,
    variables_map: map,
  };
  return config;
}

const MODEL_FIELDS = ["temperature", "top_p", "max_output_tokens", "seed", "extra"];

function isOfModel({ at }: DraftError): boolean {
  return MODEL_FIELDS.includes(at);
}

function locationOf(at: string, error: DraftError): string {
  if (isOfModel(error)) return `${at}.model_config.${error.at}`;
  return error.at === "response_format" ? `${at}.response_format` : `${at}.messages`;
}

/** The graders of a request that only checks them. Null if there are none, or one can't be sent. */
export function gradersOf(drafts: readonly GraderDraft[]): Grader[] | null {
  const graders = drafts.flatMap((draft) => readGrader(draft, "", {}));
  const isComplete = graders.length === drafts.length && graders.every(({ name }) => name !== "");
  return isComplete && graders.length > 0 ? graders : null;
}

/** Reads a grader. */
export function readGrader(
  { name, json, broken = {} }: GraderDraft,
  at: string,
  errors: FormErrors,
): Grader[] {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    errors[at] = "This is no valid JSON.";
    return [];
  }
  if (!isObject(value) || typeof value.type !== "string") {
    errors[at] = 'A JSON object with a "type" is expected.';
    return [];
  }
  const problems = problemsOf(value, at);
  for (const place of Object.keys(broken)) problems[`${at}.${place}`] = "This is no valid JSON.";
  Object.assign(errors, problems);
  return Object.keys(problems).length > 0 ? [] : [{ ...(value as Grader), name: name.trim() }];
}

/** A side with another version of a prompt: without its own parameters, which were for other messages. */
export function withPrompt(side: SideDraft, prompt: PromptChoice | null): SideDraft {
  return { ...side, prompt, replaced: {} };
}

/** A side with the messages and parameters of a prompt's version, to edit them. */
export function withOwnMessages(side: SideDraft, version: PromptVersion): SideDraft {
  const draft = draftOf(version);
  const set = Object.entries(side.content.model).filter(([, value]) => value.length > 0);
  return {
    ...side,
    prompt: null,
    replaced: {},
    content: { ...draft, model: { ...emptyModel, ...draft.model, ...Object.fromEntries(set) } },
  };
}
