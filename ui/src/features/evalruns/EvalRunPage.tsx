import { Button, Menu } from "@mantine/core";
import { IconPencil, IconScale, IconTrash } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { Link, useNavigate, useParams, useSearchParams } from "react-router";
import { hasEnded, isSettled } from "@/api/comparisons";
import { useEvalRun } from "@/api/evalRuns";
import { keys } from "@/api/queryKeys";
import type { EvalRun } from "@/api/types";
import { Ago } from "@/components/Ago";
import { authorName } from "@/components/author";
import classes from "@/components/evaluation/Evaluation.module.css";
import { EvaluationStatusMark } from "@/components/evaluation/Marks";
import { PageHeader } from "@/components/PageHeader";
import { PageTabs } from "@/components/PageTabs";
import { ProblemPanel } from "@/components/ProblemPanel";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { DangerItem, RowMenu } from "@/components/RowMenu";
import { useKeys } from "@/components/useKeys";
import { useNow } from "@/components/useNow";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { CancelDialog, CompareDialog, DeleteDialog, RenameEvalRun } from "./Dialogs";
import { shortCommit } from "./evalRuns";
import { ItemsTab } from "./ItemsTab";
import { ResultTab } from "./ResultTab";

/** One eval-run: its scores, what became of its items, and their outputs. */
export function EvalRunPage() {
  const { evalRunId = "" } = useParams();
  const query = useEvalRun(evalRunId);
  return (
    <QueryState query={query} skeleton={<SkeletonRows count={8} height={40} />} page>
      {(run) => <View key={run.id} run={run} problem={query.isRefetchError ? query.error : null} />}
    </QueryState>
  );
}

type OpenDialog = "rename" | "delete" | "cancel" | "compare";

interface Props {
  run: EvalRun;
  /** Why it couldn't be read again. */
  problem: Error | null;
}

function View({ run, problem }: Props) {
  const projectId = useProjectId();
  const mayWrite = allows(useProject(), "evals:write");
  const [params, setParams] = useSearchParams();
  const navigate = useNavigate();
  const now = useNow(10_000);
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const list = `/p/${projectId}/eval-runs`;
  const back = () => navigate(list);
  useKeys({ Escape: back });
  useReadAgainAtTheEnd(run);
  const { dataset, branch, commit, created_at, created_by } = run;
  const dialogProps = { run, onClose: () => setDialog(null) };
  return (
    <div className={classes.page}>
      <PageHeader
        title={run.name}
        back={{ label: "Back to the eval-runs", onClick: back }}
        badges={<EvaluationStatusMark status={run.status} />}
        context={
          <>
            <Link to={`/p/${projectId}/datasets/${dataset.id}?revision=${dataset.revision}`}>
              <bdi>{dataset.name}</bdi> revision {dataset.revision}
            </Link>
            {dataset.split !== null && (
              <>
                , split <bdi>{dataset.split}</bdi>
              </>
            )}
            {branch !== null && (
              <>
                {" "}
                · branch{" "}
                <Link to={`${list}?${new URLSearchParams({ branch })}`}>
                  <bdi>{branch}</bdi>
                </Link>
              </>
            )}
            {commit !== null && (
              <>
                {" "}
                · commit <code title={commit}>{shortCommit(commit)}</code>
              </>
            )}{" "}
            · started <Ago time={created_at} now={now} /> by {authorName(created_by)}
          </>
        }
        actions={
          mayWrite && (
            <>
              {run.summary !== null && run.accounting.outputs > 0 && (
                <Button
                  variant="default"
                  leftSection={<IconScale size={14} />}
                  onClick={() => setDialog("compare")}
                >
                  Compare…
                </Button>
              )}
              {!hasEnded(run) && (
                <Button variant="default" onClick={() => setDialog("cancel")}>
                  Cancel…
                </Button>
              )}
              <RowMenu name={run.name}>
                <Menu.Item leftSection={<IconPencil size={15} />} onClick={() => setDialog("rename")}>
                  Rename…
                </Menu.Item>
                {hasEnded(run) && (
                  <DangerItem icon={IconTrash} onClick={() => setDialog("delete")}>
                    Delete…
                  </DangerItem>
                )}
              </RowMenu>
            </>
          )
        }
      />
      {problem && (
        <div className={classes.notices}>
          <ProblemPanel error={problem} />
        </div>
      )}
      <PageTabs
        label="Parts of the eval-run"
        value={params.get("tab") === "items" ? "items" : "result"}
        onChange={(value) => setParams(value === "result" ? {} : { tab: value })}
        tabs={[
          { value: "result", label: "Result", content: <ResultTab run={run} /> },
          { value: "items", label: "Items", content: <ItemsTab run={run} /> },
        ]}
      />
      {dialog === "rename" && <RenameEvalRun {...dialogProps} />}
      {dialog === "cancel" && <CancelDialog {...dialogProps} />}
      {dialog === "delete" && (
        <DeleteDialog {...dialogProps} onDeleted={() => navigate(list, { replace: true })} />
      )}
      {dialog === "compare" && (
        <CompareDialog {...dialogProps} onStarted={(id) => navigate(`/p/${projectId}/comparisons/${id}`)} />
      )}
    </div>
  );
}

/** The items and the lists are stale when the result is there. */
function useReadAgainAtTheEnd(run: EvalRun) {
  const queryClient = useQueryClient();
  const isReady = isSettled(run);
  const before = useRef(isReady);
  useEffect(() => {
    if (isReady && !before.current) {
      void queryClient.invalidateQueries({ queryKey: keys.evalRuns.all(run.project_id) });
      void queryClient.invalidateQueries({ queryKey: keys.evalRun.all(run.id) });
    }
    before.current = isReady;
  }, [isReady, queryClient, run.id, run.project_id]);
}
