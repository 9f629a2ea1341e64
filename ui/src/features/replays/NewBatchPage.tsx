import { Button } from "@mantine/core";
import { Link, useLocation, useNavigate, useSearchParams } from "react-router";
import { useProviders } from "@/api/providers";
import { useReplayability } from "@/api/replays";
import { useOutline, useRun } from "@/api/runs";
import { NotAllowed } from "@/components/NotAllowed";
import { Page } from "@/components/Page";
import { PageHint, PageMessage } from "@/components/PageMessage";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { BATCH_TITLE, readBatchStart, readStartEdits } from "@/components/replayStart";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { BatchForm } from "./BatchForm";
import { broadestTarget, changesOf, givenEdit, newEdit } from "./edits";
import { emptyBatch } from "./newBatch";
import { stepsOf } from "./steps";

/** Starts a batch over the runs in the address. Recorded values are those of one of them. */
export function NewBatchPage() {
  const projectId = useProjectId();
  const mayWrite = allows(useProject(), "replays:write");
  const [params] = useSearchParams();
  const start = readBatchStart(params);
  if (!mayWrite) {
    return (
      <NotAllowed
        title={BATCH_TITLE}
        action="start replays"
        scope="replays:write"
        reason="replays cost money"
        back={{ label: "Back to the batches", to: `/p/${projectId}/replays?list=batches` }}
      />
    );
  }
  if (start === null) {
    return (
      <Page title={BATCH_TITLE}>
        <PageMessage title="Choose runs first.">
          <PageHint>
            Open a failure and choose <b>Test an edit</b>, or select runs in the list of runs.
          </PageHint>
          <Button component={Link} to={`/p/${projectId}/failures`}>
            Open the failures
          </Button>
        </PageMessage>
      </Page>
    );
  }
  return <OfRuns key={params.toString()} projectId={projectId} start={start} />;
}

interface OfRunsProps {
  projectId: string;
  start: NonNullable<ReturnType<typeof readBatchStart>>;
}

function OfRuns({ projectId, start: { runs, typical } }: OfRunsProps) {
  const navigate = useNavigate();
  const given = readStartEdits(useLocation().state).map(givenEdit);
  const run = useRun(projectId, typical);
  const outline = useOutline(projectId, typical);
  const replayability = useReplayability(projectId, typical);
  const providers = useProviders(projectId);
  const skeleton = <SkeletonRows count={6} height={44} />;
  return (
    <QueryState query={run} skeleton={skeleton} page>
      {(run) => (
        <QueryState query={replayability} skeleton={skeleton} page>
          {(replayability) => (
            <QueryState query={outline} skeleton={skeleton} page>
              {(outline) => (
                <QueryState query={providers} skeleton={skeleton} page>
                  {({ data }) => {
                    const steps = stepsOf(outline);
                    const target = broadestTarget(steps);
                    const [change = "system_prompt"] = changesOf(target, steps, replayability.level);
                    return (
                      <BatchForm
                        projectId={projectId}
                        runs={runs}
                        typical={run}
                        steps={steps}
                        level={replayability.level}
                        providers={data}
                        start={emptyBatch(given.length > 0 ? given : [newEdit(target, change)])}
                        onStarted={(id) =>
                          navigate(`/p/${projectId}/replay-batches/${id}`, { replace: true })
                        }
                      />
                    );
                  }}
                </QueryState>
              )}
            </QueryState>
          )}
        </QueryState>
      )}
    </QueryState>
  );
}
