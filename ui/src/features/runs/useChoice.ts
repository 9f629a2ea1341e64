import { useEffect, useState } from "react";
import type { Run, RunFilter } from "@/api/types";
import { NO_SELECTION, type Selection, withSelected } from "./selection";

interface Choice {
  selection: Selection;
  /** The run in the preview. */
  previewed: string | null;
}

const NO_CHOICE: Choice = { selection: NO_SELECTION, previewed: null };

/** What the reader chose in each history entry, so that "back" shows it again. */
const choices = new Map<string, Choice>();

/** The selection and the preview. Another filter clears both. */
export function useChoice(filter: RunFilter, historyKey: string) {
  const [choice, setChoice] = useState(() => ({ filter, ...(choices.get(historyKey) ?? NO_CHOICE) }));
  const { selection, previewed } = choice.filter === filter ? choice : NO_CHOICE;
  useEffect(() => {
    choices.set(historyKey, { selection, previewed });
  }, [historyKey, selection, previewed]);
  const change = (changed: Partial<Choice>) => setChoice({ filter, selection, previewed, ...changed });
  return {
    selection,
    previewed,
    select: (runs: readonly Run[], isOn: boolean) =>
      change({ selection: withSelected(selection, runs, isOn) }),
    setSelection: (next: Selection) => change({ selection: next }),
    preview: (runId: string | null) => change({ previewed: runId }),
    clear: () => change(NO_CHOICE),
  };
}
