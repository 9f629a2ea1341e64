import { useCallback, useMemo, useState } from "react";
import type { Layout } from "./columns";
import { readLayout, writeLayout } from "./layout";

// Chosen before projects had their own columns.
const earlierKey = "looptrace.run-columns";
const storageKey = (projectId: string) => `${earlierKey}.${projectId}`;

/** The columns of the list and their widths, stored in this browser for each project. */
export function useColumns(projectId: string): [Layout, (layout: Layout) => void] {
  const recalled = useMemo(() => recall(projectId), [projectId]);
  const [chosen, setChosen] = useState({ projectId, layout: recalled });
  const store = useCallback(
    (layout: Layout) => {
      setChosen({ projectId, layout });
      try {
        localStorage.setItem(storageKey(projectId), writeLayout(layout));
      } catch {
        // Without storage the default applies next time.
      }
    },
    [projectId],
  );
  return [chosen.projectId === projectId ? chosen.layout : recalled, store];
}

function recall(projectId: string): Layout {
  try {
    return readLayout(localStorage.getItem(storageKey(projectId)), localStorage.getItem(earlierKey));
  } catch {
    return readLayout(null, null);
  }
}
