import { Select } from "@mantine/core";
import { isAtWork, useEvalRuleRuns } from "@/api/evalRules";
import { ITEMS_PAGE } from "@/api/paging";
import type { EvalRule, EvalRuleRun } from "@/api/types";
import { Ago } from "@/components/Ago";
import classes from "@/components/evaluation/Items.module.css";
import { ListAndDetail } from "@/components/evaluation/ListAndDetail";
import { formatValue } from "@/components/evaluation/measures";
import { reasonText } from "@/components/evaluation/progress";
import { StatusSelect } from "@/components/evaluation/StatusSelect";
import { useAddress } from "@/components/useAddress";
import { RunDetail } from "./RunDetail";
import { dayText, RUN_STATUSES, readRunsPlace } from "./rules";

interface Props {
  rule: EvalRule;
  now: number;
}

/** The runs that a rule took, and the scores of one. The place is in the address. */
export function RunsTab({ rule, now }: Props) {
  const { params, set } = useAddress();
  const place = readRunsPlace(params);
  const { status, day } = place;
  const query = useEvalRuleRuns(rule.id, { status, day }, (place.page - 1) * ITEMS_PAGE, isAtWork(rule));
  const days = [...new Set([...(day ? [day] : []), ...rule.days.map((one) => one.day)])];
  const isFiltered = status !== undefined || day !== undefined;
  return (
    <ListAndDetail
      what="run"
      testId="rule-run"
      query={query}
      wanted={place.run}
      page={place.page}
      filters={
        <>
          <StatusSelect
            of="run"
            statuses={RUN_STATUSES}
            value={status}
            onChange={(value) => set({ status: value, page: null, run: null })}
          />
          <Select
            size="xs"
            aria-label="Day (UTC)"
            placeholder="Any day"
            data={days.map((value) => ({ value, label: dayText(value) }))}
            value={day ?? null}
            onChange={(value) => set({ day: value, page: null, run: null })}
            clearable
            clearButtonProps={{ "aria-label": "Clear day" }}
          />
        </>
      }
      empty={isFiltered ? "No runs match these filters." : "No runs sampled yet."}
      onClear={isFiltered ? () => set({ status: null, day: null, page: null, run: null }) : undefined}
      row={(run) => ({
        id: run.run_id,
        status: run.status,
        name: run.run_name || "unnamed",
        mark: <Mark run={run} />,
        line: (
          <>
            <Ago time={run.taken_at} now={now} />
            {run.error && `, ${reasonText(run.error.code)}`}
          </>
        ),
      })}
    >
      {(id) => {
        const run = query.data?.data.find(({ run_id }) => run_id === id);
        return run && <RunDetail key={id} rule={rule} run={run} now={now} />;
      }}
    </ListAndDetail>
  );
}

/** The first score, or what became of the run. */
function Mark({ run: { status, scores } }: { run: EvalRuleRun }) {
  const first = scores.find(({ score }) => score !== null);
  if (status !== "scored" || !first) return RUN_STATUSES[status];
  return (
    <>
      <bdi className={classes.itemScore}>{first.name}</bdi> {formatValue("score", first.score)}
    </>
  );
}
