import { Button, Select } from "@mantine/core";
import { IconArrowLeft } from "@tabler/icons-react";
import { Link, useSearchParams } from "react-router";
import { isAtWork, useEvalRuleRuns } from "@/api/evalRules";
import { ITEMS_PAGE } from "@/api/paging";
import type { EvalRule, EvalRuleRun } from "@/api/types";
import { Ago } from "@/components/Ago";
import { ItemPages } from "@/components/evaluation/ItemPages";
import classes from "@/components/evaluation/Items.module.css";
import { formatValue } from "@/components/evaluation/measures";
import { reasonText } from "@/components/evaluation/progress";
import { PageMessage } from "@/components/PageMessage";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { useKeys } from "@/components/useKeys";
import { RunDetail } from "./RunDetail";
import { dayText, RUN_STATUSES, readRunsPlace } from "./rules";

interface Props {
  rule: EvalRule;
  now: number;
}

/** The runs that a rule took, and the scores of one. The place is in the address. */
export function RunsTab({ rule, now }: Props) {
  const [params, setParams] = useSearchParams();
  const place = readRunsPlace(params);
  const { status, day } = place;
  const query = useEvalRuleRuns(rule.id, { status, day }, (place.page - 1) * ITEMS_PAGE, isAtWork(rule));
  const runs = query.data?.data ?? [];
  const index = Math.max(
    0,
    runs.findIndex(({ run_id: id }) => id === place.run),
  );
  const chosen = runs[index];
  const set = (changes: Record<string, string | null>, replace = false) =>
    setParams(
      (current) => {
        for (const [name, value] of Object.entries(changes)) {
          if (value) current.set(name, value);
          else current.delete(name);
        }
        return current;
      },
      { replace },
    );
  const move = (by: 1 | -1) => {
    const next = runs[index + by];
    if (next) set({ run: next.run_id }, true);
  };
  useKeys({ j: () => move(1), k: () => move(-1) });
  const days = [...new Set([...(day ? [day] : []), ...rule.days.map((one) => one.day)])];
  const isFiltered = status !== undefined || day !== undefined;
  return (
    <div className={classes.root} data-open={place.run !== "" || undefined}>
      <div className={classes.side}>
        <search className={classes.filters}>
          <Select
            size="xs"
            aria-label="Status of the run"
            placeholder="Any status"
            data={Object.entries(RUN_STATUSES).map(([value, label]) => ({ value, label }))}
            value={status ?? null}
            onChange={(value) => set({ status: value, page: null, run: null })}
            clearable
            clearButtonProps={{ "aria-label": "Clear status" }}
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
        </search>
        <QueryState query={query} skeleton={<SkeletonRows count={10} height={44} />}>
          {({ has_more: hasMore }) =>
            runs.length === 0 ? (
              <PageMessage title={isFiltered ? "No runs match these filters." : "No runs sampled yet."}>
                {isFiltered && (
                  <Button variant="default" onClick={() => setParams({ tab: "runs" })}>
                    Clear filters
                  </Button>
                )}
              </PageMessage>
            ) : (
              <>
                <RunList
                  runs={runs}
                  chosen={chosen}
                  params={params}
                  now={now}
                  isStale={query.isPlaceholderData}
                />
                <ItemPages
                  page={place.page}
                  count={runs.length}
                  hasMore={hasMore}
                  onChange={(page) => set({ page: page === 1 ? null : String(page), run: null })}
                />
              </>
            )
          }
        </QueryState>
      </div>
      <section className={classes.detail} aria-label="Run">
        <div className={classes.back}>
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<IconArrowLeft size={14} />}
            onClick={() => set({ run: null })}
          >
            All runs
          </Button>
        </div>
        {chosen && <RunDetail key={chosen.run_id} rule={rule} run={chosen} now={now} />}
      </section>
    </div>
  );
}

interface ListProps {
  runs: readonly EvalRuleRun[];
  chosen: EvalRuleRun | undefined;
  params: URLSearchParams;
  now: number;
  isStale: boolean;
}

function RunList({ runs, chosen, params, now, isStale }: ListProps) {
  const addressOf = (id: string) => {
    const copy = new URLSearchParams(params);
    copy.set("run", id);
    return `?${copy}`;
  };
  return (
    <ul className={classes.list} data-stale={isStale || undefined} aria-label="Runs">
      {runs.map((run) => (
        <li key={run.run_id}>
          <Link
            to={addressOf(run.run_id)}
            replace
            className={classes.item}
            aria-current={run === chosen ? "true" : undefined}
            data-testid="rule-run"
            data-run={run.run_id}
            data-status={run.status}
          >
            <span className={classes.itemHead}>
              <span className={classes.itemName}>
                <bdi>{run.run_name || "unnamed"}</bdi>
              </span>
              <span className={classes.itemMark}>
                <Mark run={run} />
              </span>
            </span>
            <span className={classes.itemInput}>
              <Ago time={run.taken_at} now={now} />
              {run.error && `, ${reasonText(run.error.code)}`}
            </span>
          </Link>
        </li>
      ))}
    </ul>
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
