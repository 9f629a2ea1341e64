import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate, useSearchParams } from "react-router";
import { fetchDataset } from "@/api/datasets";
import { fetchEvalRun } from "@/api/evalRuns";
import { fetchReadyMadeJudges } from "@/api/judges";
import { useProviders } from "@/api/providers";
import { keys } from "@/api/queryKeys";
import type { EvalRun, ReadyMadeJudge } from "@/api/types";
import { readWithout } from "@/components/evalRunStart";
import { savingText } from "@/components/evaluation/trust";
import { NotAllowed } from "@/components/NotAllowed";
import { PageState } from "@/components/PageState";
import { withoutJudge } from "@/components/panels/panelDraft";
import { SkeletonRows } from "@/components/QueryState";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { EvalRunForm } from "./EvalRunForm";
import { emptyEvalRun, judgeAgain, likeEvalRun, type NewEvalRun } from "./newEvalRun";

const TITLE = "New eval-run";

/**
 * Starts an eval-run: from nothing, or with `dataset`, like the eval-run `from`, or on the `outputs` of one. `panel` and `without`
 * leave a judge out.
 */
export function NewEvalRunPage() {
  const projectId = useProjectId();
  const project = useProject();
  const providers = useProviders(projectId);
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const [params] = useSearchParams();
  const [address] = useState(() => params.toString());
  const mayWrite = allows(project, "evals:write");
  const start = useQuery({
    queryKey: keys.evalRuns.start(projectId, address),
    queryFn: () =>
      loadStart(new URLSearchParams(address), async () => {
        const { data } = await queryClient.ensureQueryData({
          queryKey: keys.judges.readyMade,
          queryFn: ({ signal }) => fetchReadyMadeJudges(signal),
        });
        return data;
      }),
    enabled: mayWrite,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
  const above = { label: "Back to the eval-runs", to: `/p/${projectId}/eval-runs` };
  if (!mayWrite) {
    return (
      <NotAllowed
        title={TITLE}
        action="start eval-runs"
        scope="evals:write"
        reason="eval-runs cost money"
        back={above}
      />
    );
  }
  return (
    <PageState
      query={providers}
      skeleton={<SkeletonRows count={6} height={44} />}
      title={TITLE}
      titleWithout={TITLE}
      above={above}
    >
      {({ data }) => (
        <PageState
          query={start}
          skeleton={<SkeletonRows count={6} height={44} />}
          title={TITLE}
          titleWithout={TITLE}
          above={above}
        >
          {({ draft, notice }) => (
            <EvalRunForm
              projectId={projectId}
              providers={data}
              start={draft}
              notice={notice}
              onStarted={(id) => navigate(`/p/${projectId}/eval-runs/${id}`, { replace: true })}
            />
          )}
        </PageState>
      )}
    </PageState>
  );
}

interface Start {
  draft: NewEvalRun;
  notice: string | null;
}

async function loadStart(
  params: URLSearchParams,
  catalogOf: () => Promise<readonly ReadyMadeJudge[]>,
): Promise<Start> {
  const [from, outputs, datasetId] = [params.get("from"), params.get("outputs"), params.get("dataset")];
  const runId = from ?? outputs;
  if (runId === null) {
    const dataset = datasetId === null ? null : await fetchDataset(datasetId);
    return { draft: { ...emptyEvalRun(), dataset }, notice: null };
  }
  const [run, catalog] = await Promise.all([fetchEvalRun(runId), catalogOf()]);
  const dataset = await fetchDataset(run.dataset.id);
  const draft = from === null ? judgeAgain(run, dataset, catalog) : likeEvalRun(run, dataset, catalog);
  const without = readWithout(params);
  return {
    draft: without ? { ...draft, panels: withoutJudge(draft.panels, without.panel, without.judge) } : draft,
    notice: without ? savingText(run.summary?.panels ?? [], without) : startText(run, draft),
  };
}

function startText(run: EvalRun, { target }: NewEvalRun): string {
  return target === "eval_run" && run.target.eval_run_id !== run.id && run.target.type !== "eval_run"
    ? `The outputs of “${run.name}” are judged again. Votes of the same judges are reused and cost nothing.`
    : `Like “${run.name}”.`;
}
