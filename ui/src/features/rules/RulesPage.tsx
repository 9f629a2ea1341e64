import { Button, Progress } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { Link, useSearchParams } from "react-router";
import { useEvalRules } from "@/api/evalRules";
import type { EvalRule, EvalRuleStatus } from "@/api/types";
import { DataTable } from "@/components/DataTable";
import { EmptyHint } from "@/components/EmptyHint";
import { nameColumn } from "@/components/evaluation/columns";
import shared from "@/components/evaluation/Evaluation.module.css";
import { reasonText } from "@/components/evaluation/progress";
import { StatusSelect } from "@/components/evaluation/StatusSelect";
import { filterWords } from "@/components/filters/runFilter";
import { ListPage } from "@/components/ListPage";
import { PageHint } from "@/components/PageMessage";
import { newRulePath } from "@/components/ruleStart";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { RuleStatusMark } from "./RuleStatusMark";
import classes from "./Rules.module.css";
import { budgetText, countsText, STATUSES, sampleText } from "./rules";

/** The rules of a project: what scores its runs as they come. */
export function RulesPage() {
  const projectId = useProjectId();
  const mayWrite = allows(useProject(), "evals:write");
  const [params, setParams] = useSearchParams();
  const wanted = params.get("status") ?? "";
  const status = Object.hasOwn(STATUSES, wanted) ? (wanted as EvalRuleStatus) : undefined;
  const query = useEvalRules(projectId, status);
  const start = mayWrite && (
    <Button component={Link} to={newRulePath(projectId)} leftSection={<IconPlus size={14} />}>
      New rule
    </Button>
  );
  return (
    <ListPage<EvalRule>
      title="Rules"
      context="Score a share of your runs as they come, with graders and judges."
      tools={
        <search className={shared.filters}>
          <StatusSelect
            statuses={STATUSES}
            value={status}
            w={130}
            onChange={(value) => setParams(value ? { status: value } : {})}
          />
        </search>
      }
      actions={start}
      query={query}
      what="rules"
      rowHeight={40}
      emptyTitle="No rules yet."
      emptyHint={
        <EmptyHint
          purpose="A rule scores a sample of your application's runs as they arrive, with graders, which are free, or with judges, within a daily budget. It shows how scores change over time and between versions."
          action={start || <PageHint>Your role doesn't include creating rules.</PageHint>}
        >
          {mayWrite && (
            <PageHint>
              Or filter runs on the <Link to={`/p/${projectId}/runs`}>Runs page</Link> and choose “Score runs
              like these” in its menu. For past runs, use{" "}
              <Link to={`/p/${projectId}/eval-runs`}>eval-runs</Link>.
            </PageHint>
          )}
        </EmptyHint>
      }
      onClearFilters={status === undefined ? undefined : () => setParams({})}
    >
      {(rows) => <Rows rows={rows} projectId={projectId} />}
    </ListPage>
  );
}

function Rows({ rows, projectId }: { rows: EvalRule[]; projectId: string }) {
  return (
    <DataTable
      label="Rules"
      stacks
      rows={rows}
      rowKey={({ id }) => id}
      rowProps={({ id, status }) => ({
        "data-testid": "rule-row",
        "data-rule": id,
        "data-status": status,
      })}
      columns={[
        nameColumn(`/p/${projectId}/rules`),
        {
          header: "Status",
          cell: ({ status, stop }) => (
            <>
              <RuleStatusMark status={status} />
              {stop && <div className={classes.why}>{reasonText(stop.code)}</div>}
            </>
          ),
        },
        {
          header: "Runs",
          title: ({ run_filter: filter }) => filterWords(filter),
          cell: ({ run_filter: filter }) => (
            <span className={classes.filter}>
              <bdi>{filterWords(filter) || "All runs"}</bdi>
            </span>
          ),
        },
        { header: "Sample", number: true, cell: ({ sample_rate: rate }) => sampleText(rate) },
        {
          header: "Today (UTC)",
          cell: ({ today }) => <span className={classes.counts}>{countsText(today)}</span>,
        },
        { header: "Judges today", number: true, cell: (rule) => <Spend rule={rule} /> },
      ]}
    />
  );
}

function Spend({ rule }: { rule: EvalRule }) {
  const { max_cost_usd_per_day: budget, today, name } = rule;
  return (
    <div className={classes.spend}>
      {budgetText(rule)}
      {budget !== null && (
        <Progress
          size="xs"
          value={Math.min(100, (100 * today.cost_usd) / budget)}
          aria-label={`Budget of ${name} that is used`}
        />
      )}
    </div>
  );
}
