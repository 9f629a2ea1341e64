import type { ReplayVerdict } from "@/api/types";
import shared from "@/components/evaluation/Evaluation.module.css";
import { formatPercent } from "@/components/format";
import { classText } from "./words";

/** Whether the recording can be reproduced, whether it drifted, and where results came from. */
export function Trust({ verdict: { reproducibility, drift, exposure } }: { verdict: ReplayVerdict }) {
  return (
    <section aria-label="Reproducibility" data-testid="reproducibility">
      <h2 className={shared.heading}>Does the recording reproduce?</h2>
      <p className={shared.lead}>
        {classText(reproducibility.class)} {driftText(drift)} {liveText(exposure)}
      </p>
    </section>
  );
}

/** Whether today's unedited attempts still do what was recorded. */
export function driftText({ measured, changed }: ReplayVerdict["drift"]): string {
  const text =
    measured === null
      ? "Drift is unknown: too few unedited attempts."
      : measured
        ? "It drifted: the recording is farther from today's unedited attempts than they are from each other."
        : "No drift found: the recording looks like today's unedited attempts.";
  return changed.length > 0 ? `${text} Changed since the recording: ${changed.join(", ")}.` : text;
}

function liveText({ live_share: live, taint_share: taint }: ReplayVerdict["exposure"]): string {
  if (live === null) return "";
  const text = `${formatPercent(live)} of calls after the edit were live`;
  return taint === null || taint === 0
    ? `${text}.`
    : `${text}, ${formatPercent(taint)} had a similar or stale result.`;
}
