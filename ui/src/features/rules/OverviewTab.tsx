import { Progress } from "@mantine/core";
import { Link } from "react-router";
import type { EvalRule, EvalRuleCounts, EvalRuleDay } from "@/api/types";
import { type Column, DataTable } from "@/components/DataTable";
import classes from "@/components/evaluation/Evaluation.module.css";
import { reasonText } from "@/components/evaluation/progress";
import { formatCount, formatRuns, formatTime, NONE } from "@/components/format";
import own from "./Rules.module.css";
import {
  countParts,
  dayText,
  RUN_HINTS,
  RUN_STATUSES,
  runsPath,
  shortSpend,
  spendText,
  sumCounts,
} from "./rules";
import { ScoreTrend } from "./ScoreTrend";

interface Props {
  rule: EvalRule;
  now: number;
}

/** What a rule did: today, from day to day, and what went wrong. */
export function OverviewTab({ rule, now }: Props) {
  const { today, days, recent_errors: errors } = rule;
  const todayDate = new Date(now).toISOString().slice(0, 10);
  if (days.length === 0 && today.taken === 0) return <Nothing rule={rule} />;
  return (
    <div className={classes.body}>
      <ScoreTrend rule={rule} now={now} />
      <div className={own.sums}>
        <Sum title="Today (UTC)" counts={today} rule={rule} day={todayDate} />
        <Sum title="Last 30 days" counts={sumCounts(days)} rule={rule} />
      </div>
      {errors.length > 0 && (
        <section className={own.section} aria-label="Recent errors" data-testid="rule-errors">
          <h2 className={classes.heading}>Why runs of the last 7 days have no score</h2>
          <DataTable
            label="Recent errors"
            stacks
            rows={errors}
            rowKey={({ code }) => code}
            columns={[
              {
                header: "Reason",
                title: ({ code }) => code,
                cell: ({ code }) => <span className={classes.reason}>{reasonText(code)}</span>,
              },
              {
                header: "Latest message",
                cell: ({ detail }) => <bdi className={own.detail}>{detail || NONE}</bdi>,
              },
              { header: "Runs", number: true, cell: ({ runs }) => formatCount(runs) },
            ]}
          />
        </section>
      )}
      <Days days={days} />
    </div>
  );
}

function Nothing({ rule }: { rule: EvalRule }) {
  return (
    <div className={classes.body} data-testid="no-runs">
      <p className={classes.lead}>
        No runs sampled yet. A run that matches is sampled when it has ended, about half a minute after its
        last span arrives.
      </p>
      <p className={classes.note}>
        Runs up to {formatTime(rule.looked_until)} have been checked.
        {rule.sample_rate < 1 && " Sampling is random, so the first may take a while."}
      </p>
    </div>
  );
}

interface SumProps {
  title: string;
  counts: EvalRuleCounts;
  rule: EvalRule;
  /** Of which day it is; undefined for several. */
  day?: string;
}

/** The runs that were taken, as a sum that adds up, and what they cost. */
function Sum({ title, counts, rule, day }: SumProps) {
  const { max_cost_usd_per_day: budget, panels } = rule;
  const hasCost = panels.length > 0 || counts.cost_usd > 0 || counts.unknown_cost_runs > 0;
  return (
    <section aria-label={title} className={classes.panel} data-testid={day ? "sum-today" : "sum-all"}>
      <h2 className={classes.heading}>{title}</h2>
      <ul className={classes.sum}>
        {countParts(counts).map(({ status, label, count }, index) => (
          <li key={status} data-zero={count === 0 || undefined} title={RUN_HINTS[status]}>
            <span aria-hidden="true">{index === 0 ? "" : "+"}</span>
            <span className={classes.count}>{formatCount(count)}</span>
            {count > 0 ? <Link to={runsPath({ status, day })}>{label}</Link> : label}
          </li>
        ))}
        <li className={classes.total}>
          <span aria-hidden="true">=</span>
          <span className={classes.count}>{formatCount(counts.taken)}</span>
          runs sampled
        </li>
      </ul>
      {hasCost && (
        <div className={own.spent}>
          <div>Judges: {spendText(counts, day ? budget : null)}</div>
          {day && budget !== null && (
            <Progress
              size="sm"
              value={Math.min(100, (100 * counts.cost_usd) / budget)}
              aria-label="Budget of today that is used"
            />
          )}
        </div>
      )}
    </section>
  );
}

function Days({ days }: { days: readonly EvalRuleDay[] }) {
  const hasVersions = new Set(days.map(({ version }) => version)).size > 1;
  const counts: Column<EvalRuleDay>[] = countParts(sumCounts(days)).map(({ status }) => ({
    header: RUN_STATUSES[status],
    number: true,
    title: () => RUN_HINTS[status],
    cell: ({ day, counts: of }) =>
      of[status] === 0 ? "0" : <Link to={runsPath({ status, day })}>{formatCount(of[status])}</Link>,
  }));
  return (
    <section className={own.section} aria-label="Days" data-testid="rule-days">
      <h2 className={classes.heading}>Runs by day</h2>
      <DataTable
        label="Runs by day"
        stacks
        rows={days}
        rowKey={({ day, version }) => `${day} ${version}`}
        rowProps={({ day, version }) => ({
          "data-testid": "rule-day",
          "data-day": day,
          "data-version": String(version),
        })}
        columns={[
          { header: "Day (UTC)", title: ({ day }) => day, cell: ({ day }) => dayText(day) },
          ...(hasVersions
            ? [{ header: "Version", number: true, cell: ({ version }: EvalRuleDay) => String(version) }]
            : []),
          ...counts,
          {
            header: "= Sampled",
            number: true,
            cell: ({ counts: of }) => <span className={own.total}>{formatCount(of.taken)}</span>,
          },
          {
            header: "Judges",
            number: true,
            title: ({ counts: of }) =>
              of.unknown_cost_runs > 0
                ? `Excludes ${formatRuns(of.unknown_cost_runs)} of unknown cost`
                : undefined,
            cell: ({ counts: of }) => shortSpend(of),
          },
        ]}
      />
    </section>
  );
}
