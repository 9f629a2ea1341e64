import { useCallback, useState } from "react";

/** A share in percent stored in this browser; undefined until one is chosen. */
export function useStoredShare(key: string): [number | undefined, (value: number | undefined) => void] {
  const [value, setValue] = useState(() => read(key));
  const store = useCallback(
    (next: number | undefined) => {
      setValue(next);
      try {
        if (next === undefined) localStorage.removeItem(key);
        else localStorage.setItem(key, next.toFixed(1));
      } catch {
        // Without storage the default applies next time.
      }
    },
    [key],
  );
  return [value, store];
}

function read(key: string): number | undefined {
  try {
    const stored = Number(localStorage.getItem(key) ?? Number.NaN);
    return stored > 0 && stored < 100 ? stored : undefined;
  } catch {
    return undefined;
  }
}
