import { Alert, Progress, Text } from "@mantine/core";
import { IconAlertTriangle, IconInfoCircle } from "@tabler/icons-react";
import { isReplaySettled } from "@/api/replays";
import type { Replay } from "@/api/types";
import shared from "@/components/evaluation/Evaluation.module.css";
import { callsText, costText } from "@/components/evaluation/progress";
import { Fact, FactList, TimeFact } from "@/components/Fact";
import { formatCost, formatDuration, NONE } from "@/components/format";
import { useNow } from "@/components/useNow";
import { Channels } from "./Channels";
import { extension } from "./evidence";
import { planCost } from "./plan";
import { Trust } from "./Trust";
import { VerdictPanel } from "./VerdictPanel";
import { progressText, replayProblem } from "./words";

interface Props {
  replay: Replay;
  /** Missing if the user may not make more attempts. */
  onMore?: () => void;
}

/** What a replay found, or how far it is. */
export function ResultTab({ replay, onMore }: Props) {
  const verdict = replay.verdict;
  const problem = replayProblem(replay);
  const isFailed = replay.status === "failed";
  const isRunning = replay.status === "queued" || replay.status === "running";
  return (
    <div className={shared.body}>
      {isRunning && <Running replay={replay} />}
      {problem && (
        <Alert
          role={isFailed ? "alert" : undefined}
          variant={isFailed ? "outline" : "light"}
          color={isFailed ? "red" : "gray"}
          c={isFailed ? undefined : "var(--lt-text)"}
          icon={isFailed ? <IconAlertTriangle size={18} /> : <IconInfoCircle size={16} />}
          title={problem.title}
          mb="md"
          data-testid="replay-problem"
        >
          {problem.text}
        </Alert>
      )}
      {!isRunning && !isReplaySettled(replay) && (
        <Text size="sm" mb="md" aria-live="polite">
          The verdict on the attempts that ended is being calculated.
        </Text>
      )}
      {verdict && (
        <>
          <VerdictPanel verdict={verdict} more={extension(replay, verdict)?.more ?? null} onMore={onMore} />
          <Channels verdict={verdict} attempts={replay.attempts} />
          <Trust verdict={verdict} />
        </>
      )}
      <section className={`${shared.panel} ${shared.below}`} aria-label="Cost and time">
        <h2 className={shared.heading}>Cost</h2>
        <p className={shared.lead} data-testid="replay-cost">
          {costText(replay.cost)}
        </p>
        <Facts replay={replay} />
      </section>
    </div>
  );
}

function Running({ replay }: { replay: Replay }) {
  const now = useNow(1_000);
  const { total, done } = replay.progress;
  const since = replay.started_at === null ? null : now - Date.parse(replay.started_at);
  // Controls of another replay took no time.
  const made = done - replay.attempts.filter(({ reused }) => reused).length;
  const left = since !== null && made >= MIN_MADE && done < total ? (since / made) * (total - done) : null;
  return (
    <div className={shared.progress} data-testid="progress">
      <Text size="sm" mb={4} aria-live="polite">
        {progressText(replay)}
        {left !== null && `, about ${formatDuration(Math.round(left / 1000) * 1000)} left`}. Cost so far:{" "}
        {costText(replay.cost)}.
      </Text>
      <Progress value={total > 0 ? (100 * done) / total : 0} aria-label="Progress of the replay" />
      <p className={shared.note}>It goes on when you leave this page.</p>
    </div>
  );
}

/** An estimate of what is left says nothing before. */
const MIN_MADE = 2;

function Facts({ replay }: { replay: Replay }) {
  const { estimate, max_cost_usd: cap, provider, started_at, finished_at, executor } = replay;
  const took = started_at && finished_at ? Date.parse(finished_at) - Date.parse(started_at) : null;
  return (
    <FactList inline>
      <Fact
        label="Estimate"
        value={estimate.calls === 0 ? "no calls" : `${planCost(estimate)} for ${callsText(estimate.calls)}`}
      />
      <Fact label="Cap" value={cap === null ? "None" : formatCost(cap)} />
      <Fact
        label="Calls by"
        value={executor === "cassette" ? "Nobody: the recording only" : (provider?.name ?? null)}
      />
      <TimeFact label="Started" time={started_at} />
      <Fact label="Took" value={took === null ? NONE : formatDuration(took)} />
    </FactList>
  );
}
