import { withNewPlayIds } from "./opened";
import type { Play } from "./play";

/** Changes with the shape of Play: what has another shape is not read. */
const SHAPE = 2;

export function playKey(userId: string, projectId: string): string {
  return `looptrace.playground.${userId}.${projectId}`;
}

/** The playground under a key; null without one. */
export function readPlay(key: string): Play | null {
  try {
    const stored = JSON.parse(localStorage.getItem(key) ?? "null");
    return stored?.shape === SHAPE ? withNewPlayIds(stored.play as Play) : null;
  } catch {
    return null;
  }
}

/** Keeps the playground. False if the browser doesn't let us: large images may not fit. */
export function writePlay(key: string, play: Play): boolean {
  try {
    localStorage.setItem(key, JSON.stringify({ shape: SHAPE, play }));
    return true;
  } catch {
    return false;
  }
}
