import { Alert } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { hasEnded, isFinal } from "@/api/comparisons";
import type { EvalRun, EvalRunMetric } from "@/api/types";
import { type Column, DataTable } from "@/components/DataTable";
import { Accounting } from "@/components/evaluation/Accounting";
import classes from "@/components/evaluation/Evaluation.module.css";
import { Interval } from "@/components/evaluation/Interval";
import { formatValue, metricLabel } from "@/components/evaluation/measures";
import { Notice } from "@/components/evaluation/Notice";
import { STOP_REASONS } from "@/components/evaluation/progress";
import { RunningPanel } from "@/components/evaluation/Running";
import { ScoreBar } from "@/components/evaluation/ScoreBar";
import { Sentence } from "@/components/evaluation/Sentence";
import { Shares } from "@/components/evaluation/Shares";
import { StoppedJudges } from "@/components/evaluation/StoppedJudges";
import { Trust, VoteSum } from "@/components/evaluation/Trust";
import { stoppedJudges } from "@/components/evaluation/trust";
import { Fact, FactList, TimeFact } from "@/components/Fact";
import {
  formatCost,
  formatCount,
  formatCountOf,
  formatDuration,
  formatPercent,
  NONE,
} from "@/components/format";
import { allows, useProject } from "@/components/useProject";
import own from "./EvalRuns.module.css";
import { isResumable, primaryScore, scoreText, tookMs, withoutPath } from "./evalRuns";
import { GatePanel } from "./GatePanel";
import { RunCost } from "./RunCost";

/** What an eval-run found, or how far it is. */
export function ResultTab({ run }: { run: EvalRun }) {
  const mayWrite = allows(useProject(), "evals:write");
  const { summary, error, accounting } = run;
  const stopped = stoppedJudges(run);
  const isEmpty = accounting.outputs === 0;
  const isOurs = run.target.type !== "external";
  const mayResume = mayWrite && hasEnded(run) && isResumable(run);
  return (
    <div className={classes.body}>
      {!hasEnded(run) && (
        <RunningPanel evaluation={run} isOurs={isOurs}>
          {isOurs
            ? "You can leave this page; it keeps running. The result appears at the end. See the outputs and votes so far under Items."
            : "Results arrive as your program sends them. The scores appear when it has finished. See the outputs so far under Items."}
        </RunningPanel>
      )}
      {error && (
        <Alert
          role="alert"
          variant="outline"
          color="red"
          icon={<IconAlertTriangle size={18} />}
          title="The eval-run failed"
          mb="md"
        >
          <bdi>{error.detail}</bdi> <code>{error.code}</code>
          {mayResume && <div>Then resume the eval-run. Stored results are kept.</div>}
        </Alert>
      )}
      {hasEnded(run) && !isFinal(run) && <Notice>Calculating the result from the outputs so far.</Notice>}
      {summary && (
        <div className={classes.sentence} data-testid="sentence">
          <p>
            <Sentence text={summary.sentence} names={summary.scores.map(({ name }) => name)} />
          </p>
        </div>
      )}
      {run.stop_reason !== null && <Notice>{STOP_REASONS[run.stop_reason]}</Notice>}
      <StoppedJudges judges={stopped} mayResume={mayResume} />
      {summary?.partial && run.stop_reason === null && stopped.length === 0 && (
        <Notice>
          {!isEmpty
            ? `${run.status === "cancelled" ? "It was cancelled before all results were in" : "Results are missing"}, so the scores cover only the results so far.`
            : !isOurs
              ? "The program sent no results, so there are no scores. Look at its own output for the reason, then run it again."
              : "There are no outputs, so there are no scores. The reasons are below."}
          {mayResume && " Resume it to run the rest."}
        </Notice>
      )}
      {summary && !isEmpty && summary.scores.length > 0 && <Scores run={run} scores={summary.scores} />}
      {summary && (
        <Trust
          panels={summary.panels}
          splitsAt={(panel) => `?${new URLSearchParams({ tab: "items", split: panel })}`}
          withoutAt={mayWrite ? (panel, judge) => withoutPath(run, panel, judge) : undefined}
          labelsAt={mayWrite ? "?tab=items&blind=1&order=random" : undefined}
        />
      )}
      <div className={classes.panels}>
        <div>
          <Accounting accounting={run.accounting} repeats={run.repeats} panels={run.panels} sides={1} />
          {run.accounting.votes && (
            <section
              className={`${classes.panel} ${classes.below}`}
              aria-label="Votes"
              data-testid="votes-sum"
            >
              <h2 className={classes.heading}>Votes</h2>
              <VoteSum counts={run.accounting.votes} />
            </section>
          )}
        </div>
        <div>
          {run.cost && <RunCost run={run} cost={run.cost} />}
          <Facts run={run} />
        </div>
      </div>
      {summary && !isEmpty && (
        <div className={own.gate}>
          <GatePanel run={run} />
        </div>
      )}
    </div>
  );
}

const ALL_PASS: Column<EvalRunMetric> = {
  header: "All repeats pass",
  number: true,
  title: () => "The items of which all repeats pass, of those with all repeats",
  cell: ({ all_pass: all }) =>
    all === null ? (
      NONE
    ) : (
      <>
        {formatPercent(all.value)}
        <Interval ci={all.ci} format={formatPercent} />
      </>
    ),
};

function Scores({ run, scores }: { run: EvalRun; scores: EvalRunMetric[] }) {
  const primary = primaryScore(run)?.name;
  return (
    <section className={classes.metrics}>
      <DataTable
        label="Scores"
        stacks
        rows={scores}
        rowKey={({ name }) => name}
        rowProps={({ name }) => ({ "data-testid": "score-row", "data-metric": name })}
        columns={[
          {
            header: "Metric",
            cell: (metric) => (
              <>
                <bdi>{metricLabel(metric)}</bdi>
                {metric.kind === "score" && metric.name === primary && (
                  <span className={classes.tag}>primary</span>
                )}
                {metric.categories === null && (
                  <span className={classes.hint}>{metric.better} is better</span>
                )}
              </>
            ),
          },
          {
            header: "Mean, 95 % interval",
            number: true,
            cell: ({ kind, mean, ci, categories }) =>
              categories === null ? (
                <>
                  {formatValue(kind, mean)}
                  <Interval ci={ci} format={(value) => formatValue(kind, value)} />
                </>
              ) : (
                "Labels"
              ),
          },
          {
            header: "From 0 to 100",
            ownLine: true,
            cell: (metric) =>
              metric.categories !== null ? (
                <Shares label={`Shares of ${metric.name}`} categories={metric.categories} />
              ) : (
                metric.kind === "score" && (
                  <ScoreBar mean={metric.mean} ci={metric.ci} label={scoreText(metric)} />
                )
              ),
          },
          {
            header: "Pass rate",
            number: true,
            title: () => "The outputs that pass, of those that have a pass or fail",
            cell: ({ pass_rate: rate }) => (rate === null ? NONE : formatPercent(rate)),
          },
          ...(run.repeats > 1 ? [ALL_PASS] : []),
          {
            header: "Items",
            number: true,
            cell: ({ n, groups }) => (
              <>
                {formatCount(n)}
                {groups !== null && <span className={classes.hint}>in {formatCountOf(groups, "group")}</span>}
              </>
            ),
          },
        ]}
      />
      <p className={classes.note}>
        Scores are out of 100. The interval is over items; items without a value are left out, and counted
        below. Costs, durations and tokens have one from 100 items on, unless few large values decide them.
      </p>
    </section>
  );
}

/** A sum says how many results it leaves out. */
function sentCostText({ cost_usd: cost, cost_unknown_results: unknown }: EvalRun): string {
  if (cost === null) {
    return "Unknown";
  }
  return unknown === 0
    ? formatCost(cost)
    : `${formatCost(cost)}, without ${formatCountOf(unknown, "result")}`;
}

function Facts({ run }: { run: EvalRun }) {
  const took = tookMs(run);
  const metadata = Object.entries(run.metadata);
  return (
    <section aria-label="Facts" className={classes.panel} data-testid="facts">
      <h2 className={classes.heading}>Facts</h2>
      <FactList>
        {run.target.type === "external" && (
          <Fact
            label="Program cost"
            value={sentCostText(run)}
            title="Sum of the costs that the program sent or that its runs have"
          />
        )}
        <Fact label="Took" value={took === null ? NONE : formatDuration(took)} />
        <Fact label="Repeats" value={formatCount(run.repeats)} />
        <Fact
          label="Branch"
          value={run.branch === null ? NONE : <bdi>{run.branch}</bdi>}
          title={run.branch ?? undefined}
        />
        <Fact label="Commit" value={run.commit ?? NONE} title={run.commit ?? undefined} />
        <TimeFact label="Started" time={run.created_at} />
        {run.graders.length > 0 && (
          <Fact label="Looptrace graders" value={run.graders.map(({ name }) => name).join(", ")} />
        )}
      </FactList>
      {metadata.length > 0 && (
        <>
          <h3 className={classes.subheading}>Metadata</h3>
          <div className={own.metadata}>
            <FactList>
              {metadata.map(([name, value]) => (
                <Fact key={name} label={name} value={value} title={value} />
              ))}
            </FactList>
          </div>
        </>
      )}
    </section>
  );
}
