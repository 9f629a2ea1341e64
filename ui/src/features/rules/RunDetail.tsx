import { Button } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { Link } from "react-router";
import type { EvalRule, EvalRuleRun } from "@/api/types";
import { Ago } from "@/components/Ago";
import classes from "@/components/evaluation/Items.module.css";
import { Score } from "@/components/evaluation/Output";
import { reasonText } from "@/components/evaluation/progress";
import { Votes } from "@/components/evaluation/Votes";
import { formatCost } from "@/components/format";
import { useProjectId } from "@/components/useProject";
import { orderVotes, RUN_HINTS, RUN_STATUSES } from "./rules";

interface Props {
  rule: EvalRule;
  run: EvalRuleRun;
  now: number;
}

/** A run that a rule took: its scores, and the votes of judges beside each other. */
export function RunDetail({ rule, run, now }: Props) {
  const projectId = useProjectId();
  const { status, error, scores, votes, attempts } = run;
  return (
    <div className={classes.content} data-testid="rule-run-detail" data-run={run.run_id} data-status={status}>
      <header className={classes.head}>
        <h2 className={classes.title}>
          <bdi>{run.run_name || "unnamed"}</bdi>
        </h2>
        <span>{RUN_STATUSES[status]}</span>
        <Button
          ml="auto"
          size="compact-sm"
          variant="default"
          component={Link}
          to={`/p/${projectId}/runs/${run.run_id}`}
        >
          Open the run
        </Button>
      </header>
      <p className={classes.dim}>
        Sampled <Ago time={run.taken_at} now={now} />, version {run.version}
        {attempts > 1 && `, ${attempts} attempts`}
        {votes.length > 0 && `, ${run.cost_usd === null ? "cost unknown" : formatCost(run.cost_usd)}`}
      </p>
      {error ? (
        <div className={classes.failure}>
          <IconAlertTriangle size={15} aria-hidden="true" />
          <div>
            <strong>{reasonText(error.code)}.</strong> <bdi>{error.detail}</bdi>{" "}
            {reasonText(error.code) !== error.code && <code>{error.code}</code>}
          </div>
        </div>
      ) : (
        status !== "scored" && <p className={classes.reason}>{RUN_HINTS[status]}</p>
      )}
      {scores.length > 0 && (
        <section className={classes.output} aria-label="Scores">
          <h3>Scores</h3>
          <ul className={classes.scores}>
            {scores.map((score) => (
              <Score key={score.name} score={score} />
            ))}
          </ul>
        </section>
      )}
      <Votes votes={orderVotes(votes, rule.panels)} scores={scores} />
    </div>
  );
}
