import { Button, Menu } from "@mantine/core";
import { IconPencil, IconPlayerPause, IconPlayerPlay, IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import { Link, useNavigate, useParams, useSearchParams } from "react-router";
import { useEvalRule, usePauseEvalRule } from "@/api/evalRules";
import type { EvalRule } from "@/api/types";
import { Ago } from "@/components/Ago";
import { authorName } from "@/components/author";
import classes from "@/components/evaluation/Evaluation.module.css";
import { filterWords } from "@/components/filters/runFilter";
import { PageHeader } from "@/components/PageHeader";
import { PageTabs } from "@/components/PageTabs";
import { ProblemPanel } from "@/components/ProblemPanel";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { DangerItem, RowMenu } from "@/components/RowMenu";
import { useKeys } from "@/components/useKeys";
import { useNow } from "@/components/useNow";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { ConfigurationTab } from "./ConfigurationTab";
import { DeleteDialog, ResumeDialog } from "./Dialogs";
import { OverviewTab } from "./OverviewTab";
import { RuleStatusMark } from "./RuleStatusMark";
import own from "./Rules.module.css";
import { RunsTab } from "./RunsTab";
import { sampleText } from "./rules";
import { StopPanel } from "./StopPanel";

/** One rule: what it does now, the scores that it gave, and the runs that it took. */
export function RulePage() {
  const { ruleId = "" } = useParams();
  const query = useEvalRule(ruleId);
  return (
    <QueryState query={query} skeleton={<SkeletonRows count={8} height={40} />} page>
      {(rule) => <View key={rule.id} rule={rule} problem={query.isRefetchError ? query.error : null} />}
    </QueryState>
  );
}

const TABS = ["runs", "configuration"] as const;

interface Props {
  rule: EvalRule;
  /** Why it couldn't be read again. */
  problem: Error | null;
}

function View({ rule, problem }: Props) {
  const projectId = useProjectId();
  const mayWrite = allows(useProject(), "evals:write");
  const [params, setParams] = useSearchParams();
  const navigate = useNavigate();
  const now = useNow(10_000);
  const [dialog, setDialog] = useState<"resume" | "delete" | null>(null);
  const pause = usePauseEvalRule(rule);
  const list = `/p/${projectId}/rules`;
  const back = () => navigate(list);
  useKeys({ Escape: back });
  const words = filterWords(rule.run_filter);
  const { sample_rate: rate, status, stop } = rule;
  const error = pause.error ?? problem;
  const resume = () => setDialog("resume");
  return (
    <div className={classes.page}>
      <PageHeader
        title={rule.name}
        back={{ label: "Back to the rules", onClick: back }}
        badges={<RuleStatusMark status={status} />}
        context={
          <>
            {rate === 1 ? "All runs" : `${sampleText(rate)} of ${words === "" ? "all runs" : "runs"}`}
            {words !== "" && (
              <>
                {" "}
                with{" "}
                <Link to={`/p/${projectId}/runs?${rule.run_filter}&range=all`}>
                  <bdi>{words}</bdi>
                </Link>
              </>
            )}{" "}
            · created <Ago time={rule.created_at} now={now} /> by <bdi>{authorName(rule.created_by)}</bdi>
          </>
        }
        actions={
          mayWrite && (
            <>
              {status === "active" && (
                <Button
                  variant="default"
                  leftSection={<IconPlayerPause size={14} />}
                  loading={pause.isPending}
                  onClick={() => pause.mutate(undefined)}
                >
                  Pause
                </Button>
              )}
              {status === "paused" && (
                <Button leftSection={<IconPlayerPlay size={14} />} onClick={resume}>
                  Resume…
                </Button>
              )}
              <Button
                component={Link}
                to={`${list}/${rule.id}/edit`}
                variant="default"
                leftSection={<IconPencil size={14} />}
              >
                Edit
              </Button>
              <RowMenu name={rule.name}>
                <Menu.Label>Rule</Menu.Label>
                <DangerItem icon={IconTrash} onClick={() => setDialog("delete")}>
                  Delete…
                </DangerItem>
              </RowMenu>
            </>
          )
        }
      />
      {error && (
        <div className={classes.notices}>
          <ProblemPanel error={error} />
        </div>
      )}
      {stop && <StopPanel rule={rule} stop={stop} now={now} onResume={mayWrite ? resume : undefined} />}
      {status === "paused" && (
        <p className={own.paused} role="status">
          Paused: runs that end now aren't scored.
          {mayWrite && " When you resume it, you can choose to score them."}
        </p>
      )}
      <PageTabs
        label="Parts of the rule"
        value={TABS.find((name) => name === params.get("tab")) ?? "overview"}
        onChange={(value) => setParams(value === "overview" ? {} : { tab: value })}
        tabs={[
          { value: "overview", label: "Scores", content: <OverviewTab rule={rule} now={now} /> },
          { value: "runs", label: "Runs", content: <RunsTab rule={rule} now={now} /> },
          {
            value: "configuration",
            label: "Configuration",
            content: <ConfigurationTab rule={rule} now={now} />,
          },
        ]}
      />
      {dialog === "resume" && <ResumeDialog rule={rule} onClose={() => setDialog(null)} />}
      {dialog === "delete" && (
        <DeleteDialog
          rule={rule}
          onClose={() => setDialog(null)}
          onDeleted={() => navigate(list, { replace: true })}
        />
      )}
    </div>
  );
}
