import { Button, Menu } from "@mantine/core";
import {
  IconDownload,
  IconGavel,
  IconPencil,
  IconPlayerPlay,
  IconPlus,
  IconRefresh,
  IconScale,
  IconTrash,
} from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { Link, useNavigate, useParams, useSearchParams } from "react-router";
import { hasEnded, isSettled } from "@/api/comparisons";
import { downloadEvalRun, useResumeEvalRun } from "@/api/evalRunJobs";
import { useEvalRun } from "@/api/evalRuns";
import { keys } from "@/api/queryKeys";
import type { EvalRun } from "@/api/types";
import { Ago } from "@/components/Ago";
import { authorName } from "@/components/author";
import { newEvalRunPath } from "@/components/evalRunStart";
import classes from "@/components/evaluation/Evaluation.module.css";
import { EvaluationStatusMark } from "@/components/evaluation/Marks";
import { ResumeDialog } from "@/components/evaluation/ResumeDialog";
import { PageHeader } from "@/components/PageHeader";
import { PageState } from "@/components/PageState";
import { PageTabs } from "@/components/PageTabs";
import { ProblemPanel } from "@/components/ProblemPanel";
import { SkeletonRows } from "@/components/QueryState";
import { DangerItem, RowMenu } from "@/components/RowMenu";
import { useKeys } from "@/components/useKeys";
import { useNow } from "@/components/useNow";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { ConfigurationTab } from "./ConfigurationTab";
import { CancelDialog, CompareDialog, DeleteDialog, RenameEvalRun, RerunDialog } from "./Dialogs";
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

const TABS = ["items", "configuration"] as const;

type OpenDialog = "rename" | "delete" | "cancel" | "compare" | "resume" | "rerun";

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
  const save = useMutation({ mutationFn: (what: "jsonl" | "csv" | "junit") => downloadEvalRun(run, what) });
  const resume = useResumeEvalRun(run);
  const ended = hasEnded(run);
  const isOurs = run.target.type !== "external";
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
          <>
            {mayWrite && ended && isResumable(run) && (
              <Button
                variant="default"
                leftSection={<IconPlayerPlay size={14} />}
                onClick={() => setDialog("resume")}
              >
                Resume…
              </Button>
            )}
            {mayWrite && run.summary !== null && run.accounting.outputs > 0 && (
              <Button
                variant="default"
                leftSection={<IconScale size={14} />}
                onClick={() => setDialog("compare")}
              >
                Compare…
              </Button>
            )}
            {mayWrite && !ended && (
              <Button variant="default" onClick={() => setDialog("cancel")}>
                Cancel…
              </Button>
            )}
            <RowMenu name={run.name}>
              <Menu.Item leftSection={<IconDownload size={15} />} onClick={() => save.mutate("jsonl")}>
                Export outputs and votes as JSONL
              </Menu.Item>
              <Menu.Item leftSection={<IconDownload size={15} />} onClick={() => save.mutate("csv")}>
                Export outputs and votes as CSV
              </Menu.Item>
              {ended && (
                <Menu.Item leftSection={<IconDownload size={15} />} onClick={() => save.mutate("junit")}>
                  Download JUnit report
                </Menu.Item>
              )}
              {mayWrite && (
                <>
                  <Menu.Divider />
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
                    <>
                      <Menu.Item
                        component={Link}
                        to={newEvalRunPath(projectId, { from: run.id })}
                        leftSection={<IconPlus size={15} />}
                      >
                        New eval-run like this…
                      </Menu.Item>
                      <Menu.Item leftSection={<IconRefresh size={15} />} onClick={() => setDialog("rerun")}>
                        Run again…
                      </Menu.Item>
                    </>
                  )}
                  <Menu.Item leftSection={<IconPencil size={15} />} onClick={() => setDialog("rename")}>
                    Rename…
                  </Menu.Item>
                  {ended && (
                    <DangerItem icon={IconTrash} onClick={() => setDialog("delete")}>
                      Delete…
                    </DangerItem>
                  )}
                </>
              )}
            </RowMenu>
          </>
        }
      />
      {(save.error ?? problem) && (
        <div className={classes.notices}>
          <ProblemPanel error={(save.error ?? problem) as Error} />
        </div>
      )}
      <PageTabs
        label="Parts of the eval-run"
        value={TABS.find((name) => name === params.get("tab")) ?? "result"}
        onChange={(value) => setParams(value === "result" ? {} : { tab: value })}
        tabs={[
          { value: "result", label: "Result", content: <ResultTab run={run} /> },
          { value: "items", label: "Items", content: <ItemsTab run={run} /> },
          { value: "configuration", label: "Configuration", content: <ConfigurationTab run={run} /> },
        ]}
      />
      {dialog === "rename" && <RenameEvalRun {...dialogProps} />}
      {dialog === "cancel" && <CancelDialog {...dialogProps} />}
      {dialog === "delete" && (
        <DeleteDialog {...dialogProps} onDeleted={() => navigate(list, { replace: true })} />
      )}
      {dialog === "resume" && (
        <ResumeDialog
          name={run.name}
          work={missingWork(run)}
          cost={run.cost}
          cap={run.max_cost_usd}
          mutation={resume}
          onClose={() => setDialog(null)}
        />
      )}
      {dialog === "rerun" && <RerunDialog {...dialogProps} onStarted={(id) => navigate(`${list}/${id}`)} />}
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
