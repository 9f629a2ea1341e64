import { parseJson, writeJson } from "@/api/json";
import type { DatasetItem, DatasetItemUpdate } from "@/api/types";
import type { ValueChange } from "@/components/textDiff";

/** A value while it is edited: a text as itself, or any value as JSON. */
export interface ValueDraft {
  kind: "text" | "json";
  text: string;
}

/** An item while it is edited. */
export interface ItemDraft {
  key: string;
  input: ValueDraft;
  reference_output: ValueDraft;
  /** JSON of an object; empty for none. */
  metadata: string;
  split: string;
  tags: string[];
}

export const emptyDraft: ItemDraft = {
  key: "",
  input: { kind: "json", text: "" },
  reference_output: { kind: "json", text: "" },
  metadata: "",
  split: "",
  tags: [],
};

/** The content of an item. */
export type ItemContent = Pick<
  DatasetItem,
  "key" | "input" | "reference_output" | "metadata" | "split" | "tags"
>;

/** The draft that has the content of an item. */
export function draftOf(item: ItemContent): ItemDraft {
  return {
    key: item.key ?? "",
    input: valueDraftOf(item.input),
    reference_output:
      item.reference_output === null ? { kind: "json", text: "" } : valueDraftOf(item.reference_output),
    metadata: Object.keys(item.metadata).length === 0 ? "" : writeJson(item.metadata, 2),
    split: item.split ?? "",
    tags: item.tags,
  };
}

function valueDraftOf(value: unknown): ValueDraft {
  return typeof value === "string"
    ? { kind: "text", text: value }
    : { kind: "json", text: writeJson(value, 2) };
}

/** The draft in the other form. A JSON text becomes its content; JSON of anything else stays as it is written. */
export function convert({ kind, text }: ValueDraft, to: ValueDraft["kind"]): ValueDraft {
  if (kind === to) return { kind, text };
  if (to === "json") return { kind: to, text: text === "" ? "" : writeJson(text) };
  try {
    const value = parseJson(text);
    if (typeof value === "string") return { kind: to, text: value };
  } catch {
    // It is no JSON yet, so it is text.
  }
  return { kind: to, text };
}

/** The content of a draft, and what is wrong with it, by member. */
export interface ReadDraft {
  content: ItemContent;
  errors: Partial<Record<keyof ItemDraft, string>>;
}

/** Reads the content of a draft. A member with an error is null. */
export function readDraft(draft: ItemDraft): ReadDraft {
  const errors: ReadDraft["errors"] = {};
  const read = (member: keyof ItemDraft, text: string): unknown => {
    try {
      return parseJson(text);
    } catch (error) {
      errors[member] = `This is not valid JSON: ${(error as Error).message}`;
      return null;
    }
  };
  const value = (member: "input" | "reference_output") => {
    const { kind, text } = draft[member];
    if (kind === "text") return text;
    if (text.trim() !== "") return read(member, text);
    if (member === "input") errors.input = "Enter JSON, or choose Text.";
    return null;
  };
  let metadata = draft.metadata.trim() === "" ? {} : read("metadata", draft.metadata);
  if (!errors.metadata && (typeof metadata !== "object" || metadata === null || Array.isArray(metadata)))
    errors.metadata = 'Metadata is a JSON object, such as {"source": "support"}.';
  if (errors.metadata) metadata = {};
  return {
    content: {
      key: draft.key === "" ? null : draft.key,
      input: value("input") as ItemContent["input"],
      reference_output: value("reference_output") as ItemContent["reference_output"],
      metadata: metadata as ItemContent["metadata"],
      split: draft.split === "" ? null : draft.split,
      tags: draft.tags,
    },
    errors,
  };
}

/** Whether two drafts differ. */
export function isEdited(before: ItemDraft, draft: ItemDraft): boolean {
  return JSON.stringify(before) !== JSON.stringify(draft);
}

/** What an edit changes, member by member. Members that were not touched are absent, so they stay exactly as they are. */
export function editedMembers(before: ItemDraft, draft: ItemDraft): DatasetItemUpdate {
  const { content } = readDraft(draft);
  const edited: Record<string, unknown> = {};
  for (const member of Object.keys(before) as (keyof ItemDraft)[]) {
    if (JSON.stringify(before[member]) !== JSON.stringify(draft[member])) edited[member] = content[member];
  }
  return edited;
}

const MEMBERS = ["key", "input", "reference_output", "metadata", "split", "tags"] as const;

/** What differs between two states of an item. Null is an item that is not there. */
export function itemChanges(before: ItemContent | null, after: ItemContent | null): ValueChange[] {
  return MEMBERS.flatMap((member): ValueChange[] => {
    const [a, b] = [before?.[member] ?? null, after?.[member] ?? null];
    const [isIn, wasIn] = [hasContent(b), hasContent(a)];
    if (!isIn && !wasIn) return [];
    if (isIn && wasIn && writeJson(a) === writeJson(b)) return [];
    const change = !wasIn ? "added" : !isIn ? "removed" : "changed";
    // The text "1" and the number 1 look the same unless both are JSON.
    const areAlike = typeof a === typeof b || change !== "changed";
    const shown = (value: unknown) => (areAlike ? value : writeJson(value, 2));
    return [{ path: member, change, before: shown(a), after: shown(b) }];
  });
}

function hasContent(value: unknown): boolean {
  if (value === null) return false;
  if (Array.isArray(value)) return true;
  return typeof value !== "object" || Object.keys(value).length > 0;
}
