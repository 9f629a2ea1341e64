import { type Draft, withNewIds } from "@/components/editor/draft";

/** A draft as it is kept in this browser. */
export interface StoredDraft {
  savedAt: string;
  /** The newest version when the draft was begun; 0 for none. */
  base: number;
  /** The version whose content it started with; 0 for none. */
  from: number;
  draft: Draft;
}

/** Changes with the shape of Draft: drafts of another shape are not read. */
const SHAPE = 1;

export function draftKey(userId: string, projectId: string, promptId: string): string {
  return `looptrace.prompt-draft.${userId}.${projectId}.${promptId}`;
}

/** The draft under a key; null without one. */
export function readStored(key: string): StoredDraft | null {
  try {
    const stored = JSON.parse(localStorage.getItem(key) ?? "null");
    if (stored?.shape !== SHAPE) return null;
    const { savedAt, base, from, draft } = stored as StoredDraft;
    return { savedAt, base, from, draft: withNewIds(draft) };
  } catch {
    return null;
  }
}

/** Keeps a draft. False if the browser doesn't let us. */
export function writeStored(key: string, stored: StoredDraft): boolean {
  try {
    localStorage.setItem(key, JSON.stringify({ shape: SHAPE, ...stored }));
    return true;
  } catch {
    return false;
  }
}

export function removeStored(key: string): void {
  try {
    localStorage.removeItem(key);
  } catch {
    // Without storage there is no draft to remove.
  }
}
