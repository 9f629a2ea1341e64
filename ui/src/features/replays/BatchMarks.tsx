import { IconArrowDown, IconArrowUp, IconHelp } from "@tabler/icons-react";
import type { ReplayBatchPartResult } from "@/api/types";
import classes from "@/components/evaluation/Marks.module.css";
import { BATCH_VERDICTS } from "./batches";

const marks = {
  better: { effect: "better", Shape: IconArrowUp },
  worse: { effect: "worse", Shape: IconArrowDown },
  cannot_tell: { effect: "inconclusive", Shape: IconHelp },
  unknown: { effect: "inconclusive", Shape: IconHelp },
};

/** Whether more attempts end well with the edit, by shape, color and words. */
export function BatchVerdictMark({ verdict }: Pick<ReplayBatchPartResult, "verdict">) {
  const { effect, Shape } = marks[verdict];
  return (
    <span className={classes.mark} data-effect={effect} data-testid="batch-verdict" data-verdict={verdict}>
      <Shape size={14} stroke={2} aria-hidden="true" />
      {BATCH_VERDICTS[verdict]}
    </span>
  );
}
