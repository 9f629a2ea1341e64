import { Button } from "@mantine/core";
import { IconPlayerPlay, IconPlus } from "@tabler/icons-react";
import { Link } from "react-router";
import type { ReplayVerdict } from "@/api/types";
import { ReplayVerdictMark } from "@/components/ReplayVerdictMark";
import { verdictWords } from "@/components/replayVerdicts";
import classes from "./Evidence.module.css";

interface Props {
  verdict: ReplayVerdict;
  /** More attempts that would help; null if none are asked for. */
  more: number | null;
  /** Attempts that failed or were not made; 0 if something else offers to make them. */
  missing: number;
  /** Missing if the user may not make more. */
  onMore?: () => void;
}

/** The verdict in words, why it is so, and what to do where it can't tell. */
export function VerdictPanel({ verdict, more, missing, onMore }: Props) {
  const { kind, meaning } = verdictWords(verdict.verdict);
  const { k, m, reasons } = verdict;
  const others = reasons.filter(({ text }) => !verdict.sentence.includes(text));
  return (
    <section className={classes.verdict} aria-label="Verdict" data-kind={kind} data-testid="verdict">
      <ReplayVerdictMark verdict={verdict.verdict} isLarge />
      <p className={classes.sentence}>{verdict.sentence}</p>
      <p className={classes.meaning}>
        {meaning}
        {` Based on ${k} attempts without the edits and ${m} with them.`}
      </p>
      {others.length > 0 && (
        <ul className={classes.reasons} aria-label="Reasons">
          {others.map(({ code, text }) => (
            <li key={code + text} data-reason={code}>
              {text}
            </li>
          ))}
        </ul>
      )}
      {onMore && more === null && missing > 0 && (
        <div className={classes.next}>
          <Button size="compact-md" leftSection={<IconPlayerPlay size={14} />} onClick={onMore}>
            Make the missing attempts…
          </Button>
          <span className={classes.meaning}>The attempts that are there stay.</span>
        </div>
      )}
      {onMore &&
        (more !== null || missing === 0) &&
        (more !== null || kind === "noise" || kind === "unknown") && (
          <div className={classes.next}>
            <Button size="compact-md" leftSection={<IconPlus size={14} />} onClick={onMore}>
              {more === null ? "Run more…" : `Run ${more} more…`}
            </Button>
            <span className={classes.meaning}>
              {more === null
                ? "More attempts can detect smaller effects. Existing attempts are kept."
                : "That's enough to show a clear effect. Existing attempts are kept."}
            </span>
          </div>
        )}
      <p className={classes.links}>
        <Link to="?tab=difference">Compare an attempt with the recorded run</Link>
        <Link to="?tab=attempts">See all attempts</Link>
      </p>
    </section>
  );
}
