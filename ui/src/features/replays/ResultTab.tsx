import { Alert, Button, Group, Progress, Text } from "@mantine/core";
import { IconAlertTriangle, IconInfoCircle, IconPlayerPlay } from "@tabler/icons-react";
import { useState } from "react";
import { Link } from "react-router";
import { isReplaySettled } from "@/api/replays";
import type { Replay } from "@/api/types";
import { Disclosure } from "@/components/evaluation/Disclosure";
import shared from "@/components/evaluation/Evaluation.module.css";
import { callsText, costText } from "@/components/evaluation/progress";
import { Fact, FactList, TimeFact } from "@/components/Fact";
import { formatCost, formatDuration, NONE } from "@/components/format";
import { newReplayPath } from "@/components/replayStart";
import { useNow } from "@/components/useNow";
import { Channels } from "./Channels";
import { Effects } from "./Effects";
import classes from "./Evidence.module.css";
import { extension, isMeasured } from "./evidence";
import { planCost } from "./plan";
import { Trust } from "./Trust";
import { VerdictPanel } from "./VerdictPanel";
import { isOfConnection, missingAttempts, progressText, replayProblem, timeLeft } from "./words";

interface Props {
  replay: Replay;
  isRunDeleted: boolean;
  /** Missing if the user may not make more attempts. */
  onMore?: () => void;
}

/** What a replay found, or how far it is. */
export function ResultTab({ replay, isRunDeleted, onMore }: Props) {
  const verdict = replay.verdict;
  const problem = replayProblem(replay);
  const missing = missingAttempts(replay);
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
          style={{ overflowWrap: "anywhere" }}
        >
          {problem.text}
          <ProblemActions replay={replay} missing={missing} isRunDeleted={isRunDeleted} onMore={onMore} />
        </Alert>
      )}
      {!isRunning && !isReplaySettled(replay) && (
        <Text size="sm" mb="md" aria-live="polite">
          Calculating the verdict from the attempts that ended.
        </Text>
      )}
      {verdict && (
        <>
          <VerdictPanel
            verdict={verdict}
            more={extension(replay, verdict)?.more ?? null}
            missing={problem ? 0 : missing}
            onMore={onMore}
          />
          {isMeasured(verdict) && <Effects verdict={verdict} />}
          <Disclosure summary="Statistics" className={classes.fold} testId="statistics">
            {isMeasured(verdict) && <Channels verdict={verdict} attempts={replay.attempts} />}
            <Trust verdict={verdict} />
          </Disclosure>
        </>
      )}
      <section className={`${shared.panel} ${shared.below}`} aria-label="Cost and time">
        <h2 className={shared.heading}>Cost</h2>
        <p className={shared.lead} data-testid="replay-cost">
          {costText(replay.cost, isRunning)}
        </p>
        <Facts replay={replay} />
      </section>
    </div>
  );
}

interface ActionsProps extends Props {
  missing: number;
}

/** What helps against what ended a replay. */
function ProblemActions({ replay, missing, isRunDeleted, onMore }: ActionsProps) {
  const { project_id: projectId, error, stop_reason: stop } = replay;
  const isConnection = isOfConnection(error, stop);
  const isOther = error?.code === "recording_changed" && !isRunDeleted;
  const mayGoOn = onMore && missing > 0 && !isOther && error?.code !== "run_deleted";
  if (!mayGoOn && !isConnection && !isOther) return null;
  return (
    <Group gap="xs" mt="xs">
      {isConnection && (
        <Button
          component={Link}
          to={`/p/${projectId}/settings/providers`}
          size="compact-sm"
          variant="default"
        >
          Open providers
        </Button>
      )}
      {mayGoOn && (
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconPlayerPlay size={14} />}
          onClick={onMore}
        >
          Make the missing attempts…
        </Button>
      )}
      {isOther && (
        <Button
          component={Link}
          to={newReplayPath(projectId, replay.run_id)}
          size="compact-sm"
          variant="default"
        >
          New replay of this run…
        </Button>
      )}
    </Group>
  );
}

/** How far a replay or a batch is. */
export function Running({ replay }: { replay: Pick<Replay, "status" | "progress" | "cost"> }) {
  const now = useNow(1_000);
  const { total, done } = replay.progress;
  // The speed since the page was opened.
  const [since] = useState(() => ({ time: Date.now(), done }));
  const left = timeLeft(replay, since, now);
  return (
    <div className={shared.progress} data-testid="progress">
      <Text size="sm" mb={4} aria-live="polite">
        {progressText(replay)}
        {left !== null && `, about ${formatDuration(Math.max(1000, Math.round(left / 1000) * 1000))} left`}.
        Cost so far: {costText(replay.cost, true)}.
      </Text>
      <Progress value={total > 0 ? (100 * done) / total : 0} aria-label="Progress of the attempts" />
      <p className={shared.note}>You can leave this page; it keeps running.</p>
    </div>
  );
}

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
        value={executor === "cassette" ? "The recording only" : (provider?.name ?? null)}
      />
      <TimeFact label="Started" time={started_at} />
      <Fact label="Took" value={took === null ? NONE : formatDuration(took)} />
    </FactList>
  );
}
