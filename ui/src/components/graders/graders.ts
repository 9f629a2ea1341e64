import { newId, pretty } from "@/components/editor/draft";
import type { GraderDraft } from "./graderDraft";
import type { Definition, GraderType } from "./graderFields";
import { GRADER_TYPES } from "./graderTypes";

/** A grader to start from. */
export interface GraderKind extends Pick<GraderType, "label" | "description" | "group" | "name"> {
  definition: Definition & { type: string };
}

/** Comparing with the reference is the most frequent, and one type has several ways to do it. */
const TEXT_CHECKS: readonly GraderKind[] = [
  {
    label: "Equals the reference output",
    description: "The same text, apart from case",
    group: "Text",
    name: "correct",
    definition: { type: "string_check", operation: "eq", ignore_case: true },
  },
  {
    label: "Contains the reference output",
    description: "The reference is somewhere in the output",
    group: "Text",
    name: "contains",
    definition: { type: "string_check", operation: "like", ignore_case: true },
  },
];

/** Graders to start from, in groups. Their members can be edited. */
export const GRADER_KINDS: readonly GraderKind[] = GRADER_TYPES.flatMap((one) => {
  if (one.type === "string_check") return TEXT_CHECKS;
  const { label, description, group, name, type, start } = one;
  return [{ label, description, group, name, definition: { type, ...start } }];
});

/** The name of a kind, with a number if others have it. */
export function freeName({ name }: GraderKind, taken: readonly string[]): string {
  let free = name;
  for (let number = 2; taken.includes(free); number++) free = `${name} ${number}`;
  return free;
}

/** A grader of a kind, with a name that none of the others has. */
export function newGrader(kind: GraderKind, others: readonly GraderDraft[]): GraderDraft {
  const name = freeName(
    kind,
    others.map((other) => other.name),
  );
  return { id: newId(), name, json: pretty(kind.definition) };
}
