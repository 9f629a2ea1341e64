import { Button, Menu } from "@mantine/core";
import { IconGavel, IconPlus, IconScale } from "@tabler/icons-react";
import { useState } from "react";
import { Link, useNavigate, useParams } from "react-router";
import { isFinal } from "@/api/comparisons";
import { downloadEvalRun, useRerunEvalRun, useResumeEvalRun } from "@/api/evalRunJobs";
import { useCancelEvalRun, useDeleteEvalRun, useEvalRun, useRenameEvalRun } from "@/api/evalRuns";
import { keys } from "@/api/queryKeys";
import type { EvalRun } from "@/api/types";
import { newEvalRunPath } from "@/components/evalRunStart";
import { EvaluationPage } from "@/components/evaluation/EvaluationPage";
import { costText, progressText, voteProgressText } from "@/components/evaluation/progress";
import { useWhenEnded } from "@/components/evaluation/useWhenEnded";
import { PageState } from "@/components/PageState";
import { SkeletonRows } from "@/components/QueryState";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { CompareDialog } from "./CompareDialog";
import { ConfigurationTab } from "./ConfigurationTab";
import { isResumable, missingWork, shortCommit } from "./evalRuns";
import { ItemsTab } from "./ItemsTab";
import { ResultTab } from "./ResultTab";

/** One eval-run: its scores, what became of its items, and their outputs. */
export function EvalRunPage() {
  const projectId = useProjectId();
  const { evalRunId = "" } = useParams();
  const query = useEvalRun(evalRunId);
  return (
    <PageState
      query={query}
      skeleton={<SkeletonRows count={8} height={40} />}
      title="Eval-run"
      above={{ label: "Back to the eval-runs", to: `/p/${projectId}/eval-runs` }}
    >
      {(run) => <View key={run.id} run={run} problem={query.isRefetchError ? query.error : null} />}
    </PageState>
  );
}

interface Props {
  run: EvalRun;
  /** Why it couldn't be read again. */
  problem: Error | null;
}

function View({ run, problem }: Props) {
  const projectId = useProjectId();
  const mayWrite = allows(useProject(), "evals:write");
  const navigate = useNavigate();
  const [isComparing, setComparing] = useState(false);
  useWhenEnded(isFinal(run), [keys.evalRuns.all(projectId), keys.evalRun.all(run.id)]);
  const { branch, commit, cost } = run;
  const isOurs = run.target.type !== "external";
  return (
    <EvaluationPage
      what="eval-run"
      list="eval-runs"
      evaluation={run}
      problem={problem}
      context={
        <>
          {branch !== null && (
            <>
              {" "}
              · branch{" "}
              <Link to={`/p/${projectId}/eval-runs?${new URLSearchParams({ branch })}`}>
                <bdi>{branch}</bdi>
              </Link>
            </>
          )}
          {commit !== null && (
            <>
              {" "}
              · commit <code title={commit}>{shortCommit(commit)}</code>
            </>
          )}
        </>
      }
      exported="outputs and votes"
      onExport={(what) => downloadEvalRun(run, what)}
      work={isResumable(run) ? missingWork(run) : undefined}
      resume={useResumeEvalRun(run)}
      rename={useRenameEvalRun(run)}
      cancel={useCancelEvalRun(run)}
      cancelText={
        <>
          {[progressText(run), voteProgressText(run)].filter((text) => text !== null).join(", ")}. Stored
          results are kept and summarized.{" "}
          {isOurs
            ? "Calls under way finish and are charged. You can resume it later."
            : "Results that your program sends later are refused, and you can't resume it."}
        </>
      }
      remove={useDeleteEvalRun(run)}
      rerun={useRerunEvalRun(run)}
      rerunText={
        isOurs ? (
          <>
            Starts a new eval-run with the same target, revision, graders, judges and order of items.{" "}
            {cost && `This one cost: ${costText(cost)}.`}{" "}
            {run.cache && run.panels.length > 0 && "Votes on the same outputs are reused and cost nothing."}
          </>
        ) : undefined
      }
      actions={
        mayWrite &&
        run.summary !== null &&
        run.accounting.outputs > 0 && (
          <Button variant="default" leftSection={<IconScale size={14} />} onClick={() => setComparing(true)}>
            Compare…
          </Button>
        )
      }
      menu={
        <>
          {run.accounting.outputs > 0 && (
            <Menu.Item
              component={Link}
              to={newEvalRunPath(projectId, { outputs: run.id })}
              leftSection={<IconGavel size={15} />}
            >
              Judge these outputs again…
            </Menu.Item>
          )}
          {isOurs && (
            <Menu.Item
              component={Link}
              to={newEvalRunPath(projectId, { from: run.id })}
              leftSection={<IconPlus size={15} />}
            >
              New eval-run like this…
            </Menu.Item>
          )}
        </>
      }
      result={<ResultTab run={run} />}
      items={<ItemsTab run={run} />}
      configuration={<ConfigurationTab run={run} />}
    >
      {isComparing && (
        <CompareDialog
          run={run}
          onClose={() => setComparing(false)}
          onStarted={(id) => navigate(`/p/${projectId}/comparisons/${id}`)}
        />
      )}
    </EvaluationPage>
  );
}
