/** A grader without its name, as the API has it. */
export type Definition = Record<string, unknown>;

interface Common {
  /** The member of the definition. */
  member: string;
  label: string;
  help?: string;
  /** Whether the member has a meaning with the others. Always, if it is missing. */
  when?: (definition: Definition) => boolean;
}

/** How a value is edited: as one text, which may hold templates, as several, or as JSON. */
export type Shape = "text" | "texts" | "json";

/** One member of a type of grader. */
export type Field = Common &
  (
    | { kind: "value"; fallback: string; shapes: readonly Shape[] }
    | { kind: "line"; placeholder?: string; isRequired?: boolean }
    | { kind: "select"; options: readonly Option[]; fallback?: string }
    | { kind: "flag" }
    | { kind: "number"; placeholder: string; least: number; most: number; isWhole?: boolean }
    | { kind: "names"; placeholder: string; least?: number; known?: readonly string[] }
    | { kind: "json"; placeholder: string; isRequired?: boolean }
    | { kind: "expression"; isRequired?: boolean; placeholder: string; names: readonly Name[] }
    | { kind: "graders" }
  );

export interface Option {
  value: string;
  label: string;
}

/** A name that an expression may use. */
export interface Name {
  name: string;
  meaning: string;
}

export interface GraderType {
  type: string;
  label: string;
  description: string;
  group: "Text" | "JSON" | "Tool calls" | "Cost and ending" | "Combinations";
  /** What such a grader is called at first. */
  name: string;
  /** What it starts with, besides its type. */
  start: Definition;
  fields: readonly Field[];
}

const OUTPUT = "{{sample.output_text}}";
export const REFERENCE = "{{item.reference_output}}";
export const REFERENCE_CALLS = "{{item.reference_output.tool_calls}}";

export const input: Field = {
  member: "input",
  label: "What is graded",
  kind: "value",
  fallback: OUTPUT,
  shapes: ["text", "json"],
};
export const extract: Field = {
  member: "pattern",
  label: "Extract with a pattern",
  help: "A regular expression (RE2). Its first group is graded instead of the whole text. Without a match, the score is 0.",
  kind: "line",
  placeholder: "Grade the whole text",
};
export const reference: Field = {
  member: "reference",
  label: "Reference",
  help: "What it is compared with. Of several texts, one match is enough.",
  kind: "value",
  fallback: REFERENCE,
  shapes: ["text", "texts", "json"],
};
export const ignoreCase: Field = { member: "ignore_case", label: "Ignore case", kind: "flag" };
export const threshold: Field = {
  member: "pass_threshold",
  label: "Pass threshold",
  help: "Passes at this score and above.",
  kind: "number",
  placeholder: "none",
  least: 0,
  most: 1,
};

export function count(member: string, label: string, placeholder: string, help?: string): Field {
  return { member, label, help, kind: "number", placeholder, least: 0, most: 1e9, isWhole: true };
}

export function limit(member: string, label: string): Field {
  return { member, label, kind: "number", placeholder: "no limit", least: 0, most: 1e15 };
}

export const plain = (...values: string[]): Option[] => values.map((value) => ({ value, label: value }));

/** What a grader inside another has besides. */
export const WEIGHT: Field = {
  member: "weight",
  label: "Weight",
  help: "0 makes it a condition only.",
  kind: "number",
  placeholder: "1",
  least: 0,
  most: 1e6,
};
