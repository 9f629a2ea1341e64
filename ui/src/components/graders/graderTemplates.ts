import type { DatasetItem } from "@/api/types";
import { pathsOf } from "@/components/configuration/itemValue";

/** Something that stands for a value of the item or the output. */
export interface Template {
  text: string;
  meaning: string;
}

const OF_OUTPUT: readonly Template[] = [
  { text: "{{sample.output_text}}", meaning: "the output as a text" },
  { text: "{{sample.output_json}}", meaning: "the output as JSON; a member with .name" },
  { text: "{{sample.output_tools}}", meaning: "the tool calls" },
  { text: "{{sample.choices[0].message}}", meaning: "the last message" },
  { text: "{{sample.finish_reason}}", meaning: "why the model stopped" },
];

/** A member's name that needs no quotes in a JSON path. */
const PLAIN = /^[\p{L}_][\p{L}\p{N}_]*$/u;

/** Templates to choose from: those of items that have such values, and those of the output. */
export function templatesOf(items: readonly DatasetItem[]): Template[] {
  const paths = [...new Set([...pathsOf(items), "metadata"])]
    .filter((path) => path.split(".").every((name) => PLAIN.test(name)))
    .map((path) => ({ text: `{{item.${path}}}`, meaning: "of the item" }));
  return [...paths, ...OF_OUTPUT];
}
