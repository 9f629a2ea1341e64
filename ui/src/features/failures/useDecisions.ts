import { useEffect, useRef, useState } from "react";
import { useDecideFailure } from "@/api/failures";
import type { FailedRunGroup, FailureDecision } from "@/api/types";
import { useKeys } from "@/components/useKeys";
import { decisionFor, revisionOf } from "./states";

/** A decision that was just made, and the one that takes it back. */
export interface Done {
  group: FailedRunGroup;
  decision: FailureDecision;
  undo: FailureDecision;
}

/**
 * Resolves, mutes and reopens groups of a list, with the last decision to undo. The keys r and m resolve the focused group and open its
 * menu, for those who may. The focus moves on to the next group when the list no longer has this one.
 */
export function useDecisions(projectId: string, groups: readonly FailedRunGroup[], mayDecide: boolean) {
  const mutation = useDecideFailure(projectId);
  const [done, setDone] = useState<Done | null>(null);
  const [noting, setNoting] = useState<FailedRunGroup | null>(null);
  const next = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (next.current === undefined || document.activeElement !== document.body) return;
    const row = document.querySelector<HTMLElement>(`[data-fingerprint="${next.current}"] [data-row-focus]`);
    next.current = undefined;
    row?.focus();
  });
  const decide = (group: FailedRunGroup, decision: FailureDecision) => {
    const at = groups.indexOf(group);
    next.current = (groups[at + 1] ?? groups[at - 1])?.fingerprint;
    mutation.mutate(
      { fingerprint: group.fingerprint, decision: { ...decision, base_revision: revisionOf(group.state) } },
      {
        onSuccess: (state) => {
          setNoting(null);
          setDone({
            group,
            decision,
            undo: { ...decisionFor(group.state), base_revision: revisionOf(state) },
          });
        },
        onError: () => setDone(null),
      },
    );
  };
  const focusedRow = () => document.activeElement?.closest<HTMLElement>("[data-fingerprint]");
  useKeys(
    mayDecide
      ? {
          r: () => {
            const focused = focusedRow()?.dataset.fingerprint;
            const group = groups.find(({ fingerprint }) => fingerprint === focused);
            if (group && !mutation.isPending && group.state.state !== "resolved") {
              decide(group, { state: "resolved" });
            }
          },
          m: () => focusedRow()?.querySelector<HTMLElement>("[aria-haspopup=menu]")?.click(),
        }
      : {},
  );
  return {
    mutation,
    done,
    noting,
    note: (group: FailedRunGroup | null) => {
      mutation.reset();
      setNoting(group);
    },
    decide,
    resolveWithNote: (note: string) => noting && decide(noting, { state: "resolved", note }),
    undo: () =>
      done &&
      mutation.mutate(
        { fingerprint: done.group.fingerprint, decision: done.undo },
        { onSettled: () => setDone(null) },
      ),
  };
}

export type Decisions = ReturnType<typeof useDecisions>;
