import type { FailedScoreRule } from "@/api/types";

/** A rule as it is typed. */
export interface RuleDraft {
  id: number;
  name: string;
  when: FailedScoreRule["when"];
  /** The bound, or the categories with commas between them. */
  value: string;
}

export const WHEN: { value: FailedScoreRule["when"]; label: string }[] = [
  { value: "below", label: "is below" },
  { value: "above", label: "is above" },
  { value: "categories", label: "is one of" },
  { value: "true", label: "is true" },
  { value: "never", label: "never" },
];

const takesBound = (when: RuleDraft["when"]) => when === "below" || when === "above";
export const takesValue = (when: RuleDraft["when"]) => takesBound(when) || when === "categories";

export function draftsOf(rules: FailedScoreRule[]): RuleDraft[] {
  return rules.map(({ name, when, bound, categories }, id) => ({
    id,
    name,
    when,
    value: bound !== undefined ? String(bound) : (categories ?? []).join(", "),
  }));
}

export function rulesOf(drafts: RuleDraft[]): FailedScoreRule[] {
  return drafts.map(({ name, when, value }) => ({
    name: name.trim(),
    when,
    ...(takesBound(when) && { bound: Number(value) }),
    ...(when === "categories" && { categories: categoriesOf(value) }),
  }));
}

function categoriesOf(value: string): string[] {
  return value
    .split(",")
    .map((category) => category.trim())
    .filter((category) => category !== "");
}

/** What is wrong with the value of a rule, if anything is. */
export function mistakeIn({ when, value }: RuleDraft): string | undefined {
  if (takesBound(when) && (value.trim() === "" || !Number.isFinite(Number(value)))) return "must be a number";
  if (when === "categories" && categoriesOf(value).length === 0) return "needs a category";
  return undefined;
}
