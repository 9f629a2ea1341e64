import { Progress, Text } from "@mantine/core";
import { useState } from "react";
import { isReplayFinal } from "@/api/replays";
import type { Replay } from "@/api/types";
import { Disclosure } from "@/components/evaluation/Disclosure";
import shared from "@/components/evaluation/Evaluation.module.css";
import { costText } from "@/components/evaluation/progress";
import { formatDuration } from "@/components/format";
import { newReplayPath } from "@/components/replayStart";
import { useNow } from "@/components/useNow";
import { Channels } from "./Channels";
import { Effects } from "./Effects";
import classes from "./Evidence.module.css";
import { extension, isMeasured } from "./evidence";
import { ReplayFacts } from "./ReplayFacts";
import { ReplayProblem } from "./ReplayProblem";
import { Trust } from "./Trust";
import { VerdictPanel } from "./VerdictPanel";
import { missingAttempts, progressText, replayProblem, timeLeft } from "./words";

interface Props {
  replay: Replay;
  isRunDeleted: boolean;
  /** Missing if the user may not make more attempts. */
  onMore?: () => void;
}

/** What a replay found, or how far it is. */
export function ResultTab({ replay, isRunDeleted, onMore }: Props) {
  const { verdict, error } = replay;
  const problem = replayProblem(replay);
  const missing = missingAttempts(replay);
  const isOther = error?.code === "recording_changed" && !isRunDeleted;
  const isRunning = replay.status === "queued" || replay.status === "running";
  return (
    <div className={shared.body}>
      {isRunning && <Running replay={replay} />}
      <ReplayProblem
        of={replay}
        testId="replay-problem"
        onMore={missing > 0 && !isOther && error?.code !== "run_deleted" ? onMore : undefined}
        newReplay={isOther ? newReplayPath(replay.project_id, replay.run_id) : undefined}
      />
      {!isRunning && !isReplayFinal(replay) && (
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
          <Disclosure summary="Statistics" className={classes.details} testId="statistics">
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
        <ReplayFacts of={replay} />
      </section>
    </div>
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
