import { newId, pretty } from "@/components/editor/draft";
import type { GraderDraft } from "./newComparison";

interface GraderKind {
  label: string;
  description: string;
  name: string;
  definition: { type: string; [member: string]: unknown };
}

/** Graders to start from, the most frequent first. Their members can be edited. */
export const GRADER_KINDS: readonly GraderKind[] = [
  {
    label: "Equals the reference output",
    description: "The same text, apart from case",
    name: "correct",
    definition: { type: "string_check", operation: "eq", ignore_case: true },
  },
  {
    label: "Contains the reference output",
    description: "The reference is somewhere in the output",
    name: "contains",
    definition: { type: "string_check", operation: "like", ignore_case: true },
  },
  {
    label: "Similar to the reference output",
    description: "How alike the texts are, from 0 to 1",
    name: "similar",
    definition: { type: "text_similarity", evaluation_metric: "fuzzy_match" },
  },
  {
    label: "Same number",
    description: "The number in the output is that of the reference, within a tolerance",
    name: "number",
    definition: { type: "number", absolute_tolerance: 0.01 },
  },
  {
    label: "Chosen answer",
    description: "The letter that was chosen is that of the reference",
    name: "choice",
    definition: { type: "choice", choices: ["A", "B", "C", "D"] },
  },
  {
    label: "Matches a pattern",
    description: "A regular expression",
    name: "pattern",
    definition: { type: "regex", pattern: "^[A-Z]" },
  },
  {
    label: "Length",
    description: "At least and at most so many characters, words or lines",
    name: "length",
    definition: { type: "length", max: 100, unit: "words" },
  },
  {
    label: "Same JSON as the reference output",
    description: "Equal values, in any order of members",
    name: "json",
    definition: { type: "json_check", operation: "eq" },
  },
  {
    label: "Fits a JSON Schema",
    description: "The output is JSON of this form",
    name: "schema",
    definition: { type: "json_schema", schema: { type: "object", required: [], properties: {} } },
  },
];

/** A grader of a kind, with a name that none of the others has. */
export function newGrader({ name, definition }: GraderKind, others: readonly GraderDraft[]): GraderDraft {
  const taken = new Set(others.map((other) => other.name));
  let free = name;
  for (let number = 2; taken.has(free); number++) free = `${name} ${number}`;
  return { id: newId(), name: free, json: pretty(definition) };
}
