import { VisuallyHidden } from "@mantine/core";
import type { FailedScore, Outcome, Run, Status } from "@/api/types";
import classes from "./StatusMark.module.css";

interface Props {
  status: Status | Outcome;
  /** Shows the name beside the shape. Otherwise only screen readers get it. */
  withLabel?: boolean;
}

/** What a mark shows of a run: its status, or the outcome if it ended well although a step failed. */
export function shownStatus({ status, outcome }: Pick<Run, "status" | "outcome">): Status | Outcome {
  return status === "ok" && outcome !== "succeeded" ? outcome : status;
}

/** Says which scores fail a run: "scored as failed: reward 0". */
export function scoredAsFailed(scores: FailedScore[]): string {
  return `scored as failed: ${scores.map(({ name, value }) => `${name} ${value}`).join(", ")}`;
}

/**
 * A status or an outcome by shape, color and name: disc for ok, diamond for a failure, ring for running, square for
 * cancelled, disc in a ring for recovered.
 */
export function StatusMark({ status, withLabel = false }: Props) {
  return (
    <span className={classes.root} data-status={status} title={withLabel ? undefined : status}>
      <svg className={classes.shape} viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
        {shapes[status]}
      </svg>
      {withLabel ? (
        <span className={classes.label}>{status}</span>
      ) : (
        <VisuallyHidden>{status}</VisuallyHidden>
      )}
    </span>
  );
}

const disc = <circle cx="6" cy="6" r="3.75" fill="currentColor" />;
const diamond = (
  <>
    <path d="M6 0.2 11.8 6 6 11.8 0.2 6Z" fill="currentColor" />
    <path d="M6 3.2v3.4M6 8.3v.5" stroke="var(--lt-bg)" strokeWidth="1.4" strokeLinecap="round" />
  </>
);

const shapes = {
  ok: disc,
  succeeded: disc,
  error: diamond,
  failed: diamond,
  recovered: (
    <>
      <circle cx="6" cy="6" r="5" fill="none" stroke="currentColor" strokeWidth="1.2" />
      <circle cx="6" cy="6" r="2.5" fill="currentColor" />
    </>
  ),
  running: (
    <>
      <circle cx="6" cy="6" r="4.25" fill="none" stroke="currentColor" strokeWidth="2" opacity="0.3" />
      <path
        d="M6 1.75A4.25 4.25 0 0 1 10.25 6"
        fill="none"
        stroke="currentColor"
        strokeWidth="2"
        strokeLinecap="round"
      />
    </>
  ),
  cancelled: (
    <>
      <rect
        x="1.75"
        y="1.75"
        width="8.5"
        height="8.5"
        rx="1.5"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
      />
      <path d="M4 6h4" stroke="currentColor" strokeWidth="1.5" strokeLinecap="round" />
    </>
  ),
} satisfies Record<Status | Outcome, React.ReactNode>;
