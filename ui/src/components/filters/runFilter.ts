import { queryText } from "@/api/query";
import { type Chip, chips, readFilters, toQuery } from "./filters";

/** A filter of runs in a text, such as `agent_name=support&status=ok`, without a project and times: these stand elsewhere. */
export function runFilterOf(query: string): string {
  const {
    project_id: _,
    window_seconds: __,
    start_after: ___,
    start_before: ____,
    ...filter
  } = toQuery("", readFilters(new URLSearchParams(query)));
  return queryText(filter);
}

/** A filter of runs in words: "agent: support, outcome: failed or recovered". Empty for all runs. */
export function filterWords(query: string): string {
  const words = new Map<string, string[]>();
  for (const { param, value, label } of filterParts(query))
    words.set(param, [...(words.get(param) ?? []), value ?? label]);
  return [...words]
    .map(([param, values]) => (REPEATED.has(param) ? `${param}: ${values.join(" or ")}` : values.join()))
    .join(", ");
}

/** The parameters that can have several values. */
const REPEATED: ReadonlySet<string> = new Set(["outcome", "status", "kind"]);

/** The conditions of a filter of runs, the words that are searched among them. */
export function filterParts(query: string): Chip[] {
  const filters = readFilters(new URLSearchParams(query));
  const words = filters.search.trim();
  return [...(words === "" ? [] : [{ param: "search", label: `words: ${words}` }]), ...chips(filters)];
}
