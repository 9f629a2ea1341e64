import { writeJson } from "@/api/json";
import { firstWords, NONE } from "@/components/format";

/** What an item is called: its key, or its place in the order. */
export function itemName({ key, number }: { key: string | null; number: number }): string {
  return key ?? `Item ${number}`;
}

/** A value in the one line of a list. */
export function oneLine(value: unknown): string {
  if (value === null || value === undefined) return NONE;
  return firstWords(typeof value === "string" ? value : writeJson(value), 120);
}
