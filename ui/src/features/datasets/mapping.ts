import type { ColumnType, ImportColumn, ImportMapping, ImportShape, ImportTarget } from "@/api/types";

/** Where a column goes. */
export type Role = "input" | "reference_output" | "metadata" | "key" | "split" | "tags";

/** Parts of an item that can be made of several columns. */
const TARGETS = ["input", "reference_output", "metadata"] as const;
export type Target = (typeof TARGETS)[number];

/** Parts of an item that are one column. */
const NAMES = ["key", "split", "tags"] as const;

export const roleLabels: Record<Role, string> = {
  input: "Input",
  reference_output: "Reference output",
  metadata: "Metadata",
  key: "Key",
  split: "Split",
  tags: "Tags",
};

export const shapeLabels: Record<ImportShape, string> = {
  columns: "Columns",
  looptrace: "Looptrace export",
  openai_chat: "OpenAI fine-tuning examples",
  openai_evals: "OpenAI evals samples",
  promptfoo: "promptfoo tests",
  langfuse: "Langfuse export",
  phoenix: "Phoenix export",
  langsmith: "LangSmith export",
};

/** A known export, in a sentence. */
export const shapeNames: Record<Exclude<ImportShape, "columns">, string> = {
  looptrace: "a Looptrace export",
  openai_chat: "examples for OpenAI fine-tuning",
  openai_evals: "samples for OpenAI evals",
  promptfoo: "promptfoo tests",
  langfuse: "a Langfuse export",
  phoenix: "a Phoenix export",
  langsmith: "a LangSmith export",
};

/** The columns of a target. */
export function columnsOf(target: ImportTarget | undefined): string[] {
  if (target === null || target === undefined) return [];
  return typeof target === "string" ? [target] : target;
}

/** Where a column goes: nowhere, to one place, or to several in a mapping that was made elsewhere. */
export function rolesOf(mapping: ImportMapping, column: string): Role[] {
  return [
    ...TARGETS.filter((role) => columnsOf(mapping[role]).includes(column)),
    ...NAMES.filter((role) => mapping[role] === column),
  ];
}

/** The mapping with a column in one place only, or nowhere. `order` has the columns in the order of the file. */
export function assign(
  mapping: ImportMapping,
  order: readonly string[],
  column: string,
  role: Role | null,
): ImportMapping {
  const changed = { ...mapping };
  for (const target of TARGETS) {
    const before = columnsOf(mapping[target]);
    const others = before.filter((name) => name !== column);
    if (role === target) {
      if (before.includes(column)) continue;
      const members = order.filter((name) => name === column || others.includes(name));
      // One reference output is taken as it is; an input keeps the name of its column.
      changed[target] = members.length === 1 && target === "reference_output" ? column : members;
    } else if (others.length < before.length) {
      changed[target] = others.length === 0 ? null : others;
    }
  }
  for (const name of NAMES) {
    if (role === name) changed[name] = column;
    else if (mapping[name] === column) changed[name] = null;
  }
  // Tags are read from text.
  if (role === "tags" && changed.types) changed.types = without(changed.types, column);
  return changed;
}

/** Whether a target takes the value of its only column as it is. */
export function isPlain(target: ImportTarget | undefined): boolean {
  return typeof target === "string";
}

/** The mapping in which a target of one column takes its value as it is, or makes an object. */
export function setPlain(mapping: ImportMapping, target: Target, plain: boolean): ImportMapping {
  const [only, ...others] = columnsOf(mapping[target]);
  if (only === undefined || others.length > 0) return mapping;
  return { ...mapping, [target]: plain ? only : [only] };
}

/** The mapping with the type of a column. */
export function setType(mapping: ImportMapping, column: string, type: ColumnType): ImportMapping {
  return { ...mapping, types: { ...mapping.types, [column]: type } };
}

function without(types: Record<string, ColumnType>, column: string): Record<string, ColumnType> {
  return Object.fromEntries(Object.entries(types).filter(([name]) => name !== column));
}

/** What a target makes: "the value of question", "{question, context}". */
export function targetText(target: ImportTarget | undefined): string {
  if (target === null || target === undefined) return "nothing";
  return typeof target === "string" ? `the value of ${target}` : `{${target.join(", ")}}`;
}

const INPUT =
  /^(inputs?|questions?|(user)?(prompt|query|input|message)|messages|instructions?|contexts?|text)$/;
const REFERENCE =
  /^(reference(outputs?|answer)?|expected(outputs?|answer|response)?|groundtruth|ideal|answers?|outputs?|completion|response|labels?|targets?)$/;

/** A mapping of columns by their names, for a file that is another kind of export. */
export function mappingByNames(columns: readonly ImportColumn[]): ImportMapping {
  const left = columns.map(({ name }) => name);
  const take = (pattern: RegExp) => {
    const at = left.findIndex((name) => pattern.test(name.toLowerCase().replace(/[\s_-]/g, "")));
    return at < 0 ? null : (left.splice(at, 1)[0] ?? null);
  };
  const [key, split, tags] = [take(/^(key|id|itemid)$/), take(/^splits?$/), take(/^tags?$/)];
  const reference = take(REFERENCE);
  const inputs: string[] = [];
  for (let name = take(INPUT); name !== null; name = take(INPUT)) inputs.push(name);
  if (inputs.length === 0) inputs.push(...left.splice(0));
  const [only] = inputs;
  return {
    shape: "columns",
    input: inputs.length === 1 && only?.toLowerCase() === "input" ? only : inputs.length > 0 ? inputs : null,
    reference_output: reference,
    metadata: left.length > 0 ? left : null,
    key,
    split,
    tags,
  };
}
