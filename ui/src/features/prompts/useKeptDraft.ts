import { useEffect, useRef, useState } from "react";
import { removeStored, type StoredDraft, writeStored } from "./storedDraft";

/** How long a pause in typing is before the browser keeps the draft. */
const KEEP_MS = 400;

/**
 * Keeps a draft in this browser, if it is worth it. `keptAt` is when it was kept last, first the time that is given. Typing does not wait
 * for the storage.
 */
export function useKeptDraft(
  storageKey: string,
  isWorth: boolean,
  { savedAt, base, from, draft }: Omit<StoredDraft, "savedAt"> & { savedAt: string | null },
) {
  const [keptAt, setKeptAt] = useState(savedAt);
  const [cannotKeep, setCannotKeep] = useState(false);
  const isPending = useRef(false);
  const keep = useRef(() => {});
  useEffect(() => {
    keep.current = () => {
      if (!isPending.current) return;
      isPending.current = false;
      if (!isWorth) {
        removeStored(storageKey);
        setKeptAt(null);
        return;
      }
      const now = new Date().toISOString();
      const isKept = writeStored(storageKey, { savedAt: now, base, from, draft });
      setCannotKeep(!isKept);
      setKeptAt(isKept ? now : null);
    };
  });
  const isFirst = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of the draft is what is kept
  useEffect(() => {
    if (isFirst.current) {
      isFirst.current = false;
      return;
    }
    isPending.current = true;
    const timer = setTimeout(() => keep.current(), KEEP_MS);
    return () => clearTimeout(timer);
  }, [draft, base, from]);
  useEffect(() => {
    const keepNow = () => keep.current();
    window.addEventListener("pagehide", keepNow);
    return () => {
      window.removeEventListener("pagehide", keepNow);
      keepNow();
    };
  }, []);
  return { keptAt, cannotKeep };
}
