import type { DatasetItem } from "@/api/types";

/** The paths in the metadata of items by which some of them belong together: values that several have, and not all. */
export function groupPaths(items: readonly Pick<DatasetItem, "metadata">[]): string[] {
  const seen = new Map<string, Map<unknown, number>>();
  for (const { metadata } of items)
    for (const [name, value] of Object.entries(metadata ?? {}))
      if (typeof value === "string" || typeof value === "number") {
        const values = seen.get(name) ?? new Map<unknown, number>();
        values.set(value, (values.get(value) ?? 0) + 1);
        seen.set(name, values);
      }
  return [...seen]
    .filter(
      ([name, values]) => !name.includes(".") && values.size > 1 && [...values.values()].some((n) => n > 1),
    )
    .map(([name]) => `metadata.${name}`);
}
