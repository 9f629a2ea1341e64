import { Button, Menu } from "@mantine/core";
import {
  IconDownload,
  IconFileText,
  IconPencil,
  IconPlayerPlay,
  IconPlus,
  IconRefresh,
  IconTrash,
} from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { Link, useNavigate, useParams, useSearchParams } from "react-router";
import {
  downloadComparison,
  hasEnded,
  isSettled,
  useComparison,
  useResumeComparison,
} from "@/api/comparisons";
import { keys } from "@/api/queryKeys";
import type { Comparison } from "@/api/types";
import { Ago } from "@/components/Ago";
import { authorName } from "@/components/author";
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
import { CancelDialog, DeleteDialog, RenameComparison, RerunDialog } from "./Dialogs";
import { ItemsTab } from "./ItemsTab";
import { ReportDialog } from "./ReportDialog";
import { ResultTab } from "./ResultTab";
import { isResumable, missingWork } from "./resume";

/** One comparison: its result, its items side by side, and what was compared. */
export function ComparisonPage() {
  const projectId = useProjectId();
  const { comparisonId = "" } = useParams();
  const query = useComparison(comparisonId);
  return (
    <PageState
      query={query}
      skeleton={<SkeletonRows count={8} height={40} />}
      title="Comparison"
      above={{ label: "Back to the comparisons", to: `/p/${projectId}/comparisons` }}
    >
      {(comparison) => (
        <View
          key={comparison.id}
          comparison={comparison}
          problem={query.isRefetchError ? query.error : null}
        />
      )}
    </PageState>
  );
}

const TABS = ["items", "configuration"] as const;

type OpenDialog = "rename" | "delete" | "cancel" | "resume" | "rerun" | "report";

interface Props {
  comparison: Comparison;
  /** Why it couldn't be read again. */
  problem: Error | null;
}

function View({ comparison, problem }: Props) {
  const projectId = useProjectId();
  const mayWrite = allows(useProject(), "evals:write");
  const [params, setParams] = useSearchParams();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const now = useNow(10_000);
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const save = useMutation({
    mutationFn: (what: "jsonl" | "csv" | "junit") => downloadComparison(comparison, what),
  });
  const resume = useResumeComparison(comparison);
  const list = `/p/${projectId}/comparisons`;
  const back = () => navigate(list);
  useKeys({ Escape: back });
  const ended = hasEnded(comparison);
  useInvalidatedWhenEnded(isSettled(comparison), () => {
    void queryClient.invalidateQueries({ queryKey: keys.comparisons.all(projectId) });
    void queryClient.invalidateQueries({ queryKey: keys.comparison.all(comparison.id) });
  });
  const mayResume = mayWrite && ended && isResumable(comparison);
  const { dataset, created_at, created_by } = comparison;
  const tab = TABS.find((name) => name === params.get("tab")) ?? "result";
  const dialogProps = { comparison, onClose: () => setDialog(null) };
  return (
    <div className={classes.page}>
      <PageHeader
        title={comparison.name}
        back={{ label: "Back to the comparisons", onClick: back }}
        badges={<EvaluationStatusMark status={comparison.status} />}
        context={
          <>
            <Link to={`/p/${projectId}/datasets/${dataset.id}?revision=${dataset.revision}`}>
              <bdi>{dataset.name}</bdi> revision {dataset.revision}
            </Link>
            {dataset.split !== null && (
              <>
                , split <bdi>{dataset.split}</bdi>
              </>
            )}{" "}
            · started <Ago time={created_at} now={now} /> by {authorName(created_by)}
          </>
        }
        actions={
          <>
            {mayWrite && !ended && (
              <Button variant="default" onClick={() => setDialog("cancel")}>
                Cancel…
              </Button>
            )}
            {mayResume && (
              <Button
                variant="default"
                leftSection={<IconPlayerPlay size={14} />}
                onClick={() => setDialog("resume")}
              >
                Resume…
              </Button>
            )}
            {ended && (
              <Button
                variant="default"
                leftSection={<IconFileText size={14} />}
                onClick={() => setDialog("report")}
              >
                Report
              </Button>
            )}
            <RowMenu name={comparison.name}>
              <Menu.Item leftSection={<IconDownload size={15} />} onClick={() => save.mutate("jsonl")}>
                Export outputs as JSONL
              </Menu.Item>
              <Menu.Item leftSection={<IconDownload size={15} />} onClick={() => save.mutate("csv")}>
                Export outputs as CSV
              </Menu.Item>
              {ended && (
                <Menu.Item leftSection={<IconDownload size={15} />} onClick={() => save.mutate("junit")}>
                  Download JUnit report
                </Menu.Item>
              )}
              {mayWrite && (
                <>
                  <Menu.Divider />
                  {!hasEvalRuns(comparison) && (
                    <Menu.Item
                      component={Link}
                      to={`${list}/new?from=${comparison.id}`}
                      leftSection={<IconPlus size={15} />}
                    >
                      New comparison like this…
                    </Menu.Item>
                  )}
                  <Menu.Item leftSection={<IconRefresh size={15} />} onClick={() => setDialog("rerun")}>
                    Run again…
                  </Menu.Item>
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
        label="Parts of the comparison"
        value={tab}
        onChange={(value) => setParams(value === "result" ? {} : { tab: value })}
        tabs={[
          {
            value: "result",
            label: "Result",
            content: <ResultTab comparison={comparison} mayResume={mayResume} />,
          },
          { value: "items", label: "Items", content: <ItemsTab comparison={comparison} /> },
          {
            value: "configuration",
            label: "Configuration",
            content: <ConfigurationTab comparison={comparison} />,
          },
        ]}
      />
      {dialog === "rename" && <RenameComparison {...dialogProps} />}
      {dialog === "cancel" && <CancelDialog {...dialogProps} />}
      {dialog === "resume" && (
        <ResumeDialog
          name={comparison.name}
          work={missingWork(comparison)}
          cost={comparison.cost}
          cap={comparison.max_cost_usd}
          mutation={resume}
          onClose={() => setDialog(null)}
        />
      )}
      {dialog === "rerun" && <RerunDialog {...dialogProps} onStarted={(id) => navigate(`${list}/${id}`)} />}
      {dialog === "delete" && (
        <DeleteDialog {...dialogProps} onDeleted={() => navigate(list, { replace: true })} />
      )}
      {dialog === "report" && (
        <ReportDialog {...dialogProps} onJUnit={() => save.mutate("junit")} isSaving={save.isPending} />
      )}
    </div>
  );
}

/** Whether outputs come from eval-runs: the form only has configurations. */
function hasEvalRuns({ a, b }: Comparison): boolean {
  return a.eval_run_id !== null || b.eval_run_id !== null;
}

/** Calls back when something that ran has ended. */
function useInvalidatedWhenEnded(ended: boolean, onEnd: () => void) {
  const before = useRef(ended);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only the end matters
  useEffect(() => {
    if (ended && !before.current) onEnd();
    before.current = ended;
  }, [ended]);
}
