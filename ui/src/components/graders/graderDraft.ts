import type { Grader } from "@/api/types";
import { newId, pretty } from "@/components/editor/draft";
import type { FormErrors } from "@/components/formErrors";
import { isObject } from "@/components/json";
import { problemsOf } from "./graderMembers";

/** A grader while it is edited. */
export interface GraderDraft {
  id: string;
  name: string;
  /** JSON without the name. */
  json: string;
  /** Texts of fields that aren't the JSON they should be, by their places: `schema`, `graders[0].schema`. */
  broken?: Record<string, string>;
}

/** A grader to edit. */
export function graderDraft({ name, ...definition }: Grader): GraderDraft {
  return { id: newId(), name: name ?? definition.type, json: pretty(definition) };
}

/** The graders of a request that only checks them. Null if there are none, or one can't be sent. */
export function gradersOf(drafts: readonly GraderDraft[]): Grader[] | null {
  const graders = drafts.flatMap((draft) => readGrader(draft, "", {}));
  const isComplete = graders.length === drafts.length && graders.every(({ name }) => name !== "");
  return isComplete && graders.length > 0 ? graders : null;
}

/** The graders of a request, and their names, each once. What is wrong with them is added to `errors`. */
export function readGraders(
  drafts: readonly GraderDraft[],
  errors: FormErrors,
): { graders: Grader[]; names: string[] } {
  const graders = drafts.flatMap((draft, index) => readGrader(draft, `body.graders[${index}]`, errors));
  const names = drafts.map(({ name }) => name.trim());
  for (const [index, name] of names.entries()) {
    if (name === "") errors[`body.graders[${index}].name`] = "Name the grader.";
    else if (names.indexOf(name) < index)
      errors[`body.graders[${index}].name`] = "Another grader has this name.";
  }
  return { graders, names };
}

/** A grader of a request, alone in a list; none if something is wrong with it, which is added to `errors`. */
export function readGrader(
  { name, json, broken = {} }: GraderDraft,
  at: string,
  errors: FormErrors,
): Grader[] {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    errors[at] = "This isn't valid JSON.";
    return [];
  }
  if (!isObject(value) || typeof value.type !== "string") {
    errors[at] = `This isn't a JSON object with a "type".`;
    return [];
  }
  const problems = problemsOf(value, at);
  for (const place of Object.keys(broken)) problems[`${at}.${place}`] = "This isn't valid JSON.";
  Object.assign(errors, problems);
  return Object.keys(problems).length > 0 ? [] : [{ ...(value as Grader), name: name.trim() }];
}
