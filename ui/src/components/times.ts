import { useSyncExternalStore } from "react";

const storageKey = "looptrace.times";
const ABSOLUTE = "absolute";

const listeners = new Set<() => void>();
let isAbsolute = read();

/** Whether moments are shown as dates instead of ages. The reader chooses it once, for all pages in this browser. */
export function useAbsoluteTimes(): boolean {
  return useSyncExternalStore(subscribe, () => isAbsolute);
}

/** Shows ages as dates, or dates as ages. Returns whether they are dates now. */
export function toggleAbsoluteTimes(): boolean {
  isAbsolute = !isAbsolute;
  try {
    if (isAbsolute) localStorage.setItem(storageKey, ABSOLUTE);
    else localStorage.removeItem(storageKey);
  } catch {
    // Without storage the choice ends with the page.
  }
  for (const listener of listeners) listener();
  return isAbsolute;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function read(): boolean {
  try {
    return localStorage.getItem(storageKey) === ABSOLUTE;
  } catch {
    return false;
  }
}
