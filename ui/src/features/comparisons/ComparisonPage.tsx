import { Button, Menu } from "@mantine/core";
import { IconFileText, IconPlus } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useParams } from "react-router";
import {
  downloadComparison,
  hasEnded,
  isFinal,
  useCancelComparison,
  useComparison,
  useDeleteComparison,
  useRenameComparison,
  useRerunComparison,
  useResumeComparison,
} from "@/api/comparisons";
import { keys } from "@/api/queryKeys";
import type { Comparison } from "@/api/types";
import { EvaluationPage } from "@/components/evaluation/EvaluationPage";
import { costText, progressText } from "@/components/evaluation/progress";
import { useWhenEnded } from "@/components/evaluation/useWhenEnded";
import { PageState } from "@/components/PageState";
import { SkeletonRows } from "@/components/QueryState";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { ConfigurationTab } from "./ConfigurationTab";
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

interface Props {
  comparison: Comparison;
  /** Why it couldn't be read again. */
  problem: Error | null;
}

function View({ comparison, problem }: Props) {
  const projectId = useProjectId();
  const mayWrite = allows(useProject(), "evals:write");
  const [isReporting, setReporting] = useState(false);
  const saveJUnit = useMutation({ mutationFn: () => downloadComparison(comparison, "junit") });
  useWhenEnded(isFinal(comparison), [keys.comparisons.all(projectId), keys.comparison.all(comparison.id)]);
  const mayResume = isResumable(comparison);
  return (
    <EvaluationPage
      what="comparison"
      list="comparisons"
      evaluation={comparison}
      problem={saveJUnit.error ?? problem}
      exported="outputs"
      onExport={(what) => downloadComparison(comparison, what)}
      work={mayResume ? missingWork(comparison) : undefined}
      resume={useResumeComparison(comparison)}
      rename={useRenameComparison(comparison)}
      cancel={useCancelComparison(comparison)}
      cancelText={
        <>
          {progressText(comparison)}. Calls under way finish and are charged. Stored results are kept, and you
          can resume it later.
        </>
      }
      remove={useDeleteComparison(comparison)}
      rerun={useRerunComparison(comparison)}
      rerunText={
        <>
          Starts a new comparison with the same configurations, revision, graders, judges and order of items.
          This one cost: {costText(comparison.cost)}.
        </>
      }
      actions={
        hasEnded(comparison) && (
          <Button
            variant="default"
            leftSection={<IconFileText size={14} />}
            onClick={() => setReporting(true)}
          >
            Report
          </Button>
        )
      }
      menu={
        !hasEvalRuns(comparison) && (
          <Menu.Item
            component={Link}
            to={`/p/${projectId}/comparisons/new?from=${comparison.id}`}
            leftSection={<IconPlus size={15} />}
          >
            New comparison like this…
          </Menu.Item>
        )
      }
      result={<ResultTab comparison={comparison} mayResume={mayWrite && hasEnded(comparison) && mayResume} />}
      items={<ItemsTab comparison={comparison} />}
      configuration={<ConfigurationTab comparison={comparison} />}
    >
      {isReporting && (
        <ReportDialog
          comparison={comparison}
          onClose={() => setReporting(false)}
          onJUnit={() => saveJUnit.mutate()}
          isSaving={saveJUnit.isPending}
        />
      )}
    </EvaluationPage>
  );
}

/** Whether outputs come from eval-runs: the form only has configurations. */
function hasEvalRuns({ a, b }: Comparison): boolean {
  return a.eval_run_id !== null || b.eval_run_id !== null;
}
