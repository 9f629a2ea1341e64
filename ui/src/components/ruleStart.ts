import { runFilterOf } from "@/components/filters/runFilter";

/** The address of the form of a new rule. `runs` is the filter that it starts with, as in the address of the Runs page. */
export function newRulePath(projectId: string, runs = ""): string {
  const filter = runFilterOf(runs);
  return `/p/${projectId}/rules/new${filter === "" ? "" : `?${new URLSearchParams({ runs: filter })}`}`;
}
