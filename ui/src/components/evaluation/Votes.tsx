import { IconAlertTriangle, IconArrowsSplit2, IconCheck, IconMinus, IconX } from "@tabler/icons-react";
import { Link } from "react-router";
import type { EvaluationScore, Vote } from "@/api/types";
import { formatCost, formatDuration } from "@/components/format";
import { useProjectId } from "@/components/useProject";
import { Disclosure } from "./Disclosure";
import { RecordedValue } from "./Output";
import classes from "./Votes.module.css";
import {
  differs,
  groupVotes,
  type JudgeVotes,
  panelScoreText,
  STATUS_HINTS,
  VOTE_STATUSES,
  voteText,
} from "./votes";

interface Props {
  votes: readonly Vote[];
  /** Those of the output: the scores of panels among them. */
  scores: readonly EvaluationScore[];
}

/** The votes on an output, the judges of each panel beside each other. */
export function Votes({ votes, scores }: Props) {
  return groupVotes(votes).map(({ panel, judges }) => {
    const score = scores.find(({ name }) => name === panel);
    return (
      <section key={panel} className={classes.root} aria-label={`Votes for ${panel}`} data-testid="votes">
        <h3>
          {panel}
          <span className={classes.dim}>{score && ` ${panelScoreText(score)}`}</span>
          {differs(judges) && (
            <span className={classes.split}>
              <IconArrowsSplit2 size={13} aria-hidden="true" /> judges differ
            </span>
          )}
        </h3>
        <JudgeCards judges={judges} />
      </section>
    );
  });
}

/** The votes of judges beside each other. */
export function JudgeCards({ judges }: { judges: readonly JudgeVotes[] }) {
  return (
    <ul className={classes.judges}>
      {judges.map(({ judge, escalated, votes }) => (
        <li key={judge} className={classes.judge} data-testid="judge-votes" data-judge={judge}>
          <div className={classes.name}>
            <bdi>{judge}</bdi>
            {escalated && <span className={classes.tag}>asked because they split</span>}
          </div>
          {votes.map((vote) => (
            <VoteCard key={`${vote.repeat} ${vote.order}`} vote={vote} isOne={votes.length === 1} />
          ))}
        </li>
      ))}
    </ul>
  );
}

const ORDERS = { ab: "A shown first", ba: "B shown first" };

interface VoteProps {
  vote: Vote;
  /** The judge has no other vote here. */
  isOne: boolean;
}

/** One vote: its value or why there is none, the reason, and its run. */
export function VoteCard({ vote, isOne }: VoteProps) {
  const projectId = useProjectId();
  const { status, pass, reason, error, raw, run_id: runId } = vote;
  const Shape = status !== "ok" ? IconAlertTriangle : pass === null ? IconMinus : pass ? IconCheck : IconX;
  const marks = [
    isOne || (vote.order !== null && vote.repeat === 1) ? null : `vote ${vote.repeat}`,
    vote.order && ORDERS[vote.order],
  ].filter((mark) => mark !== null);
  return (
    <div className={classes.vote} data-testid="vote" data-status={status} data-pass={String(pass)}>
      <div className={classes.value} title={STATUS_HINTS[status]}>
        <Shape size={14} stroke={2} aria-hidden="true" />
        <strong>
          <bdi>{status === "ok" ? voteText(vote) : VOTE_STATUSES[status]}</bdi>
        </strong>
        {marks.length > 0 && <span className={classes.dim}>{marks.join(", ")}</span>}
        {runId && (
          <Link className={classes.run} to={`/p/${projectId}/runs/${runId}`}>
            Run
          </Link>
        )}
      </div>
      {reason !== "" && (
        <p className={classes.reason} dir="auto">
          {reason}
        </p>
      )}
      {error && (
        <p className={classes.reason} dir="auto">
          {error.detail} <code>{error.code}</code>
        </p>
      )}
      <p className={classes.facts}>
        {[
          vote.cached ? "reused from an earlier evaluation" : null,
          vote.truncated ? "saw part of a long text" : null,
          vote.requests > 1 ? `${vote.requests} requests` : null,
          vote.duration_ms === null || vote.cached ? null : formatDuration(vote.duration_ms),
          vote.cost_usd === null ? "cost unknown" : formatCost(vote.cost_usd),
        ]
          .filter((fact) => fact !== null)
          .join(" · ")}
      </p>
      {status !== "ok" && raw !== null && raw !== "" && (
        <Disclosure className={classes.raw} summary="What it answered">
          <RecordedValue value={raw} what="answer of the judge" />
        </Disclosure>
      )}
    </div>
  );
}
