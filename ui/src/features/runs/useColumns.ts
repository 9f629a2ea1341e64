import { useCallback, useState } from "react";
import { type ColumnId, isDefault, readColumns } from "./columns";

const storageKey = "looptrace.run-columns";

/** The columns of the list, stored in this browser. */
export function useColumns(): [ColumnId[], (columns: ColumnId[]) => void] {
  const [columns, setColumns] = useState(() => readColumns(recall()));
  const store = useCallback((next: ColumnId[]) => {
    setColumns(next);
    try {
      if (isDefault(next)) localStorage.removeItem(storageKey);
      else localStorage.setItem(storageKey, next.join());
    } catch {
      // Without storage the default applies next time.
    }
  }, []);
  return [columns, store];
}

function recall(): string | null {
  try {
    return localStorage.getItem(storageKey);
  } catch {
    return null;
  }
}
