import { newId, pretty } from "@/components/editor/draft";
import type { GraderDraft } from "./graderDraft";
import type { Definition, GraderType } from "./graderFields";
import { fieldsOf, innerGraders } from "./graderMembers";
import { GRADER_TYPES, graderType } from "./graderTypes";

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

/** What a combination starts with where there is no reference output. */
const SHORT = { name: "short", type: "length", max: 100, unit: "words" };
const NO_LOOPS = { name: "no loops", type: "tool_loop" };

/** Graders to start from, in groups. Their members can be edited. */
export const GRADER_KINDS: readonly GraderKind[] = GRADER_TYPES.flatMap((one) => {
  if (one.type === "string_check") return TEXT_CHECKS;
  const { label, description, group, name, type, start } = one;
  return [{ label, description, group, name, definition: { type, ...start } }];
});

/** Whether a definition compares with the reference output of an item. */
function needsReference(definition: Definition): boolean {
  const type = graderType(definition);
  const compares = (type ? fieldsOf(type, definition) : []).some(
    (field) =>
      field.kind === "value" &&
      field.fallback.startsWith(REFERENCE_OUTPUT) &&
      definition[field.member] === undefined,
  );
  return compares || innerGraders(definition.graders).some((inner) => needsReference(inner.definition));
}

const REFERENCE_OUTPUT = "{{item.reference_output";

/** Graders to start from where there is no reference output: for runs as they come. */
export const ONLINE_KINDS: readonly GraderKind[] = [
  {
    label: "Contains a text",
    description: "The text is somewhere in the output, or isn't",
    group: "Text",
    name: "contains",
    definition: { type: "string_check", operation: "like", reference: "sorry", ignore_case: true },
  },
  ...GRADER_KINDS.flatMap((kind) =>
    kind.definition.type === "json_check"
      ? [
          {
            ...kind,
            label: "Is JSON",
            description: "The output is valid JSON",
            definition: { type: "json_check", operation: "valid" },
          },
        ]
      : kind.definition.type === "multi"
        ? [{ ...kind, definition: { type: "multi", graders: [SHORT, NO_LOOPS] } }]
        : [kind],
  ).filter(({ definition }) => !needsReference(definition)),
];

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
