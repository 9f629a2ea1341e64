import type { RunItemMap, RunSkipped, RunsToDataset, SpanChoice } from "@/api/types";

/** What becomes an item of a dataset: the run as a whole, or one span of it. */
type ItemSource = { of: "run" } | { of: "span"; kind: string; name: string; occurrence: "first" | "last" };

/** JSON paths. An empty one is none. */
export interface ItemPaths {
  input: string;
  reference: string;
  metadata: string;
}

export interface ItemForm {
  source: ItemSource;
  paths: ItemPaths;
}

export interface Preset extends ItemForm {
  name: string;
}

const lastCall: ItemSource = { of: "span", kind: "llm", name: "", occurrence: "last" };

/** The usual choices. For one given span only the paths matter. */
export const presets: readonly Preset[] = [
  {
    name: "Input and output",
    source: { of: "run" },
    paths: { input: "$.input", reference: "$.output", metadata: "" },
  },
  {
    name: "Input only",
    source: { of: "run" },
    paths: { input: "$.input", reference: "", metadata: "" },
  },
  {
    name: "Messages and tools of the last model call",
    source: lastCall,
    paths: { input: "$.request", reference: "$.output_messages[0]", metadata: "" },
  },
  {
    name: "Messages of the last model call, and its answer as text",
    source: lastCall,
    paths: { input: "$.messages", reference: "$.output", metadata: "" },
  },
];

/** The name of a preset for one given span. */
export function spanPresetName({ name }: Preset): string {
  return name.replace(" of the last model call", "");
}

/** The preset that a form is the same as. */
export function presetOf(form: ItemForm, isOneSpan: boolean): Preset | undefined {
  return presets.find(
    ({ source, paths }) =>
      (Object.keys(paths) as (keyof ItemPaths)[]).every((part) => paths[part] === form.paths[part].trim()) &&
      (isOneSpan || sameSource(source, form.source)),
  );
}

function sameSource(a: ItemSource, b: ItemSource): boolean {
  if (a.of === "run" || b.of === "run") return a.of === b.of;
  return a.kind === b.kind && a.name === b.name.trim() && a.occurrence === b.occurrence;
}

/** Why the form can't be sent, by its fields. */
export function formErrors({ source, paths }: ItemForm): { input?: string; span?: string } {
  return {
    ...(paths.input.trim() === "" && { input: "Enter a JSON path, such as $.input." }),
    ...(source.of === "span" &&
      source.kind.trim() === "" &&
      source.name.trim() === "" && { span: "Enter a kind or a name." }),
  };
}

/** The members of the request that say what becomes an item. */
export function requestOf(
  { source, paths }: ItemForm,
  spanId: string | undefined,
): Pick<RunsToDataset, "map" | "span"> {
  const map: RunItemMap = {
    input: paths.input.trim(),
    reference_output: paths.reference.trim() || null,
    metadata: paths.metadata.trim() || null,
  };
  if (spanId !== undefined) return { map, span: { span_id: spanId } as SpanChoice };
  if (source.of === "run") return { map };
  const span: SpanChoice = { occurrence: source.occurrence };
  if (source.kind.trim() !== "") span.kind = source.kind.trim();
  if (source.name.trim() !== "") span.name = source.name.trim();
  return { map, span };
}

/** Runs that were skipped for the same reason. */
export interface SkippedGroup {
  reason: string;
  runIds: string[];
}

/** The reasons, the most frequent first. */
export function groupSkipped(skipped: readonly RunSkipped[]): SkippedGroup[] {
  const groups = new Map<string, string[]>();
  for (const { run_id, reason } of skipped) {
    const known = groups.get(reason);
    if (known) known.push(run_id);
    else groups.set(reason, [run_id]);
  }
  return [...groups]
    .map(([reason, runIds]) => ({ reason, runIds }))
    .sort((a, b) => b.runIds.length - a.runIds.length);
}
