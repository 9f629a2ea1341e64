import { Alert } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { hasEnded, isFinal } from "@/api/comparisons";
import type { Comparison } from "@/api/types";
import { Accounting } from "@/components/evaluation/Accounting";
import classes from "@/components/evaluation/Evaluation.module.css";
import { Verdict } from "@/components/evaluation/Marks";
import { Notice } from "@/components/evaluation/Notice";
import { STOP_REASONS } from "@/components/evaluation/progress";
import { RunningPanel } from "@/components/evaluation/Running";
import { Sentence } from "@/components/evaluation/Sentence";
import { StoppedJudges } from "@/components/evaluation/StoppedJudges";
import { Trust, VoteSum } from "@/components/evaluation/Trust";
import { stoppedJudges } from "@/components/evaluation/trust";
import { formatPercent } from "@/components/format";
import { allows, useProject } from "@/components/useProject";
import { CostPanel } from "./CostPanel";
import { LABELS_AT } from "./itemsPlace";
import { MetricsTable } from "./MetricsTable";
import { withoutPath } from "./newComparison";
import { primaryOf } from "./primaryMetric";

/** What a comparison found, or how far it is. */
export function ResultTab({ comparison, mayResume }: { comparison: Comparison; mayResume: boolean }) {
  const { summary, error, stop_reason: stopReason } = comparison;
  const stopped = stoppedJudges(comparison);
  const mayWrite = allows(useProject(), "evals:write");
  return (
    <div className={classes.body}>
      {!hasEnded(comparison) && (
        <RunningPanel evaluation={comparison} isOurs>
          You can leave this page; it keeps running. The result appears at the end. See the outputs so far
          under Items.
        </RunningPanel>
      )}
      {error && (
        <Alert
          role="alert"
          variant="outline"
          color="red"
          icon={<IconAlertTriangle size={18} />}
          title="The comparison failed"
          mb="md"
        >
          <bdi>{error.detail}</bdi> <code>{error.code}</code>
          {mayResume && <div>Then resume the comparison. Stored results are kept.</div>}
        </Alert>
      )}
      {hasEnded(comparison) && !isFinal(comparison) && (
        <Notice>Cancelled. Calculating the result from the outputs so far.</Notice>
      )}
      {summary && <Verdicts comparison={comparison} />}
      {summary?.conditions?.map(({ kind, text }) => (
        <Notice key={`${kind} ${text}`}>
          <bdi>{text}</bdi>
        </Notice>
      ))}
      {stopReason !== null && (
        <Notice>
          {STOP_REASONS[stopReason]}
          {summary?.stopped_at != null &&
            ` It ended after ${formatPercent(summary.stopped_at)} of the items.`}
        </Notice>
      )}
      <StoppedJudges judges={stopped} mayResume={mayResume} />
      {summary?.partial && stopReason === null && stopped.length === 0 && (
        <Notice>
          It ended before all outputs were in, so the result covers only the outputs so far.
          {mayResume && " Resume it to run the rest."}
        </Notice>
      )}
      {summary && summary.metrics.length > 0 && <MetricsTable comparison={comparison} summary={summary} />}
      {summary && (
        <Trust
          panels={summary.panels}
          withoutAt={mayWrite ? (panel, judge) => withoutPath(comparison, panel, judge) : undefined}
          labelsAt={mayWrite ? LABELS_AT : undefined}
        />
      )}
      <div className={classes.panels}>
        <div>
          <Accounting
            accounting={comparison.accounting}
            repeats={comparison.repeats}
            panels={comparison.panels}
            sides={2}
          />
          {comparison.accounting.votes && (
            <section
              className={`${classes.panel} ${classes.below}`}
              aria-label="Votes"
              data-testid="votes-sum"
            >
              <h2 className={classes.heading}>Votes</h2>
              <VoteSum counts={comparison.accounting.votes} />
            </section>
          )}
        </div>
        <CostPanel comparison={comparison} />
      </div>
    </div>
  );
}

/** The result in words, with the verdict of the primary metric. */
function Verdicts({ comparison }: { comparison: Comparison }) {
  const primary = primaryOf(comparison);
  return (
    <div className={classes.sentence} data-testid="sentence">
      {primary && <Verdict verdict={primary.verdict} />}
      <p>
        <Sentence
          text={comparison.summary?.sentence ?? ""}
          names={[
            comparison.a.name,
            comparison.b.name,
            ...(comparison.summary?.metrics.map(({ name }) => name) ?? []),
          ]}
        />
      </p>
    </div>
  );
}
