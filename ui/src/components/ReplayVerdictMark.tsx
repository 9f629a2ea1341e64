import { IconArrowsDiff, IconBan, IconEqual, IconHelp, IconWaveSine } from "@tabler/icons-react";
import classes from "./ReplayVerdictMark.module.css";
import { verdictWords } from "./replayVerdicts";

const icons = {
  effect: IconArrowsDiff,
  likely: IconArrowsDiff,
  none: IconEqual,
  noise: IconWaveSine,
  unknown: IconHelp,
  invalid: IconBan,
};

/** The verdict of a replay, by shape and words. An effect is neither good nor bad. */
export function ReplayVerdictMark({ verdict, isLarge = false }: { verdict: string; isLarge?: boolean }) {
  const { label, kind } = verdictWords(verdict);
  const Shape = icons[kind];
  return (
    <span
      className={classes.mark}
      data-kind={kind}
      data-large={isLarge || undefined}
      data-testid="replay-verdict"
      data-verdict={verdict}
    >
      <Shape size={isLarge ? 20 : 14} stroke={2} aria-hidden="true" />
      {label}
    </span>
  );
}
