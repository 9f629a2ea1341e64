import { Button } from "@mantine/core";
import { Link, useLocation, useNavigate, useSearchParams } from "react-router";
import { useProviders } from "@/api/providers";
import { useReplayability } from "@/api/replays";
import { useOutline, useRun } from "@/api/runs";
import type { Outline, Provider, Run, RunReplayability } from "@/api/types";
import { NotAllowed } from "@/components/NotAllowed";
import { Page } from "@/components/Page";
import { PageHint, PageMessage } from "@/components/PageMessage";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { readStartEdits } from "@/components/replayStart";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { broadestTarget, changesOf, givenEdit, newEdit } from "./edits";
import { Missing } from "./Missing";
import { emptyReplay } from "./newReplay";
import { ReplayForm } from "./ReplayForm";
import { stepsOf } from "./steps";

const TITLE = "New replay";

/** Starts a replay of the run `run`, with an edit of the step `span`. */
export function NewReplayPage() {
  const projectId = useProjectId();
  const mayWrite = allows(useProject(), "replays:write");
  const [params] = useSearchParams();
  const runId = params.get("run");
  if (!mayWrite) {
    return (
      <NotAllowed
        title={TITLE}
        action="start replays"
        scope="replays:write"
        reason="replays cost money"
        back={{ label: "Back to the replays", to: `/p/${projectId}/replays` }}
      />
    );
  }
  if (runId === null) {
    return (
      <Page title={TITLE}>
        <PageMessage title="Choose a run first.">
          <PageHint>
            Open a run and choose <b>Replay…</b> there, or <b>Replay from here</b> at one of its steps.
          </PageHint>
          <Button component={Link} to={`/p/${projectId}/runs`}>
            Choose a run
          </Button>
        </PageMessage>
      </Page>
    );
  }
  return <OfRun key={runId} projectId={projectId} runId={runId} spanId={params.get("span")} />;
}

interface OfRunProps {
  projectId: string;
  runId: string;
  spanId: string | null;
}

function OfRun({ projectId, runId, spanId }: OfRunProps) {
  const run = useRun(projectId, runId);
  const outline = useOutline(projectId, runId);
  const replayability = useReplayability(projectId, runId);
  const providers = useProviders(projectId);
  const skeleton = <SkeletonRows count={6} height={44} />;
  return (
    <QueryState query={run} skeleton={skeleton} page>
      {(run) => (
        <QueryState query={replayability} skeleton={skeleton} page>
          {(replayability) =>
            replayability.level === "none" ? (
              <NotReplayable projectId={projectId} run={run} replayability={replayability} />
            ) : (
              <QueryState query={outline} skeleton={skeleton} page>
                {(outline) => (
                  <QueryState query={providers} skeleton={skeleton} page>
                    {({ data }) => (
                      <Form
                        projectId={projectId}
                        run={run}
                        spanId={spanId}
                        outline={outline}
                        replayability={replayability}
                        providers={data}
                      />
                    )}
                  </QueryState>
                )}
              </QueryState>
            )
          }
        </QueryState>
      )}
    </QueryState>
  );
}

interface NotProps {
  projectId: string;
  run: Run;
  replayability: RunReplayability;
}

function NotReplayable({ projectId, run, replayability }: NotProps) {
  return (
    <Page title={TITLE}>
      <PageMessage title={`“${run.name || "This run"}” can't be replayed.`}>
        <Missing missing={replayability.missing} />
        <Button component={Link} to={`/p/${projectId}/runs/${run.run_id}`} variant="default">
          Back to the run
        </Button>
      </PageMessage>
    </Page>
  );
}

interface FormProps extends NotProps {
  spanId: string | null;
  outline: Outline;
  providers: readonly Provider[];
}

function Form({ projectId, run, spanId, outline, replayability, providers }: FormProps) {
  const navigate = useNavigate();
  const given = readStartEdits(useLocation().state).map(givenEdit);
  const steps = stepsOf(outline);
  const isKnown = steps.some(({ id }) => id === spanId);
  const target = isKnown ? `span:${spanId}` : broadestTarget(steps);
  const [change = "system_prompt"] = changesOf(target, steps, replayability.level);
  return (
    <ReplayForm
      projectId={projectId}
      run={run}
      steps={steps}
      replayability={replayability}
      providers={providers}
      start={emptyReplay(given.length > 0 ? given : [newEdit(target, change)])}
      onStarted={(id) => navigate(`/p/${projectId}/replays/${id}`, { replace: true })}
    />
  );
}
