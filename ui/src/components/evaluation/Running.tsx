import { Group, Progress, Text } from "@mantine/core";
import { useState } from "react";
import { formatDuration } from "@/components/format";
import { useNow } from "@/components/useNow";
import classes from "./Evaluation.module.css";
import { EvaluationStatusMark } from "./Marks";
import { doneShare, progressText, type Running, timeLeft, voteProgressText, workOf } from "./progress";

interface Props {
  evaluation: Running;
  /** Whether Looptrace makes it, so that its speed says how long it takes. */
  isOurs: boolean;
  /** What to know meanwhile. */
  children: React.ReactNode;
}

/** How far an evaluation is, with the time left. */
export function RunningPanel({ evaluation, isOurs, children }: Props) {
  const now = useNow(1_000);
  // The speed since the page was opened: what was made before may have waited.
  const [since] = useState(() => ({ time: Date.now(), done: workOf(evaluation).done }));
  const left = isOurs ? timeLeft(evaluation, since, now) : null;
  const votes = voteProgressText(evaluation);
  const isAnimated = evaluation.status === "running";
  return (
    <section aria-label="Progress" className={classes.progress} data-testid="progress">
      <Group justify="space-between" gap="xs" mb={6}>
        <Text size="sm" role="status">
          {progressText(evaluation)}
        </Text>
        {left !== null && (
          <Text size="sm" c="dimmed" data-testid="time-left">
            About {formatDuration(Math.max(1000, Math.round(left / 1000) * 1000))} left
          </Text>
        )}
      </Group>
      <Progress value={100 * doneShare(evaluation.progress)} animated={isAnimated} aria-label="Outputs" />
      {evaluation.vote_progress && votes !== null && (
        <>
          <Text size="sm" role="status" mt="xs" mb={6}>
            {votes}
          </Text>
          <Progress
            value={100 * doneShare(evaluation.vote_progress)}
            animated={isAnimated}
            aria-label="Votes"
          />
        </>
      )}
      <Text size="xs" c="dimmed" mt={6}>
        {children}
      </Text>
    </section>
  );
}

/** How far an evaluation in a list is. */
export function RunningCell({ evaluation, name }: { evaluation: Running; name: string }) {
  const texts = [progressText(evaluation), voteProgressText(evaluation)].filter((text) => text !== null);
  return (
    <div className={classes.running}>
      <EvaluationStatusMark status={evaluation.status} />
      <Text size="xs">{texts.join(", ")}</Text>
      <Progress size="sm" value={100 * doneShare(workOf(evaluation))} aria-label={`Progress of ${name}`} />
    </div>
  );
}
