import { Badge } from "@mantine/core";
import {
  IconArrowDown,
  IconArrowUp,
  IconBan,
  IconCheck,
  IconClock,
  IconEqual,
  IconHelp,
  IconLoader,
  IconX,
} from "@tabler/icons-react";
import type { EvaluationOutcome, EvaluationStatus, EvaluationVerdict } from "@/api/types";
import classes from "./Marks.module.css";
import { effectOf, VERDICTS } from "./measures";
import { OUTCOMES, STATUSES } from "./progress";

const statusIcons = {
  queued: IconClock,
  running: IconLoader,
  succeeded: IconCheck,
  failed: IconX,
  cancelled: IconBan,
};

/** The status of a comparison or an eval-run, by shape and word. */
export function EvaluationStatusMark({ status }: { status: EvaluationStatus }) {
  const Shape = statusIcons[status];
  const isFailed = status === "failed";
  return (
    <Badge
      className={classes.status}
      size="sm"
      tt="none"
      variant={isFailed ? "outline" : "light"}
      color={isFailed ? "red" : "gray"}
      c={isFailed ? "var(--lt-error-text)" : "var(--lt-text)"}
      leftSection={<Shape size={12} aria-hidden="true" />}
      data-testid="evaluation-status"
      data-status={status}
    >
      {STATUSES[status]}
    </Badge>
  );
}

const effectIcons = {
  better: IconArrowUp,
  worse: IconArrowDown,
  equivalent: IconEqual,
  inconclusive: IconHelp,
};

/** A verdict, by shape, color and words. */
export function Verdict({ verdict }: { verdict: EvaluationVerdict }) {
  const effect = effectOf(verdict);
  const Shape = effectIcons[effect];
  return (
    <span className={classes.mark} data-effect={effect}>
      <Shape size={14} stroke={2} aria-hidden="true" />
      {VERDICTS[verdict]}
    </span>
  );
}

const outcomeEffects = {
  improved: "better",
  regressed: "worse",
  unchanged: "equivalent",
  failed: "failed",
} as const;

/** The outcome of an item, by shape, color and word. */
export function OutcomeMark({ outcome }: { outcome: EvaluationOutcome }) {
  const effect = outcomeEffects[outcome];
  const Shape = effect === "failed" ? IconX : effectIcons[effect];
  return (
    <span className={classes.mark} data-effect={effect}>
      <Shape size={14} stroke={2} aria-hidden="true" />
      {OUTCOMES[outcome]}
    </span>
  );
}
