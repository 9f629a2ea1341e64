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

/** A page or a repeat in an address, from 1. What is no such number is 1. */
export function placeNumber(text: string | null): number {
  return text !== null && /^[1-9]\d{0,6}$/.test(text) ? Number(text) : 1;
}
