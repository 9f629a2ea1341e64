import { Button } from "@mantine/core";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useSearchParams } from "react-router";
import { useMe } from "@/api/identity";
import { useOpenedRun } from "@/api/playground";
import { useProviders } from "@/api/providers";
import type { NotRestored, Provider } from "@/api/types";
import { NoProvider } from "@/components/NoProvider";
import { Page } from "@/components/Page";
import { PageMessage } from "@/components/PageMessage";
import { ProblemPanel } from "@/components/ProblemPanel";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { useProjectId } from "@/components/useProject";
import { playOf } from "./opened";
import { Playground } from "./Playground";
import type { Play } from "./play";
import { playKey } from "./storedPlay";
import { usePlay } from "./usePlay";

/** Calls models with prompts or messages, side by side. `?run=…&span=…` opens a recorded call. */
export function PlaygroundPage() {
  const projectId = useProjectId();
  const userId = useMe().data?.user?.id ?? "";
  const query = useProviders(projectId);
  const providers = query.data?.data;
  if (providers === undefined) {
    return (
      <Page title="Playground">
        <QueryState query={query} skeleton={<SkeletonRows count={6} height={44} />} page>
          {() => null}
        </QueryState>
      </Page>
    );
  }
  if (providers.length === 0) return <NoProvider title="Playground" />;
  const key = playKey(userId, projectId);
  return <Drafted key={key} projectId={projectId} storageKey={key} providers={providers} />;
}

interface DraftedProps {
  projectId: string;
  storageKey: string;
  providers: readonly Provider[];
}

function Drafted({ projectId, storageKey, providers }: DraftedProps) {
  const [params, setParams] = useSearchParams();
  const { play, setPlay, isKept } = usePlay(storageKey);
  const runId = params.get("run");
  const opening = useOpenedRun(runId ? { runId, spanId: params.get("span") ?? undefined } : null);
  const [notRestored, setNotRestored] = useState<readonly NotRestored[]>([]);
  const [before, setBefore] = useState<Play | null>(null);
  const opened = opening.data;
  // The address changes later than the state.
  const taken = useRef<typeof opened>(undefined);
  useEffect(() => {
    if (!runId || !opened || taken.current === opened) return;
    taken.current = opened;
    setBefore(play);
    setPlay(playOf(opened));
    setNotRestored(opened.not_restored);
    // A reload keeps what is edited, and doesn't open the run again.
    setParams({}, { replace: true });
  }, [runId, opened, play, setPlay, setParams]);
  const shown = useMemo(() => withProvider(play, providers), [play, providers]);
  const change = useCallback(
    (apply: (play: Play) => Play) => setPlay((known) => apply(withProvider(known, providers))),
    [setPlay, providers],
  );
  if (runId) {
    return (
      <Page title="Playground">
        {opening.error ? (
          <PageMessage>
            <ProblemPanel error={opening.error} onRetry={() => void opening.refetch()} />
            <Button variant="default" onClick={() => setParams({}, { replace: true })}>
              Open the playground without it
            </Button>
          </PageMessage>
        ) : (
          <SkeletonRows count={6} height={44} />
        )}
      </Page>
    );
  }
  return (
    <Playground
      projectId={projectId}
      owner={storageKey}
      providers={providers}
      play={shown}
      onPlay={change}
      isKept={isKept}
      notRestored={notRestored}
      onSeen={() => setNotRestored([])}
      onUndo={
        before
          ? () => {
              setPlay(before);
              setBefore(null);
              setNotRestored([]);
            }
          : undefined
      }
    />
  );
}

/** The only connection needs no choice, and a deleted one is no choice. */
function withProvider(play: Play, providers: readonly Provider[]): Play {
  const only = providers.length === 1 ? (providers[0]?.id ?? "") : "";
  const isKnown = (id: string) => providers.some((provider) => provider.id === id);
  if (play.columns.every(({ providerId }) => isKnown(providerId))) return play;
  return {
    ...play,
    columns: play.columns.map((column) =>
      isKnown(column.providerId) ? column : { ...column, providerId: only },
    ),
  };
}
