import type { ReplayMatch, ReplayVerdict } from "@/api/types";
import shared from "@/components/evaluation/Evaluation.module.css";
import { formatP } from "@/components/evaluation/measures";
import { formatCount, formatPercent, UNKNOWN } from "@/components/format";
import classes from "./Evidence.module.css";
import { classText, ROLES, SOURCES, sourceLabel, sourcesOf } from "./words";

/** Whether the recording can be reproduced, whether it drifted, and where results came from. */
export function Trust({ verdict }: { verdict: ReplayVerdict }) {
  return (
    <div className={classes.panels}>
      <Reproducibility verdict={verdict} />
      <Exposure verdict={verdict} />
    </div>
  );
}

function Reproducibility({ verdict: { reproducibility, drift } }: { verdict: ReplayVerdict }) {
  const { label, meaning } = classText(reproducibility.class);
  return (
    <section className={shared.panel} aria-label="Reproducibility" data-testid="reproducibility">
      <h2 className={shared.heading}>Does the recording reproduce?</h2>
      <p className={shared.lead}>
        <b>{label}.</b> {meaning}
      </p>
      <table className={classes.matches}>
        <thead>
          <tr>
            <th scope="col">Compared by</th>
            <th scope="col">Unedited attempts that match</th>
            <th scope="col">Others that differ, at most</th>
          </tr>
        </thead>
        <tbody>
          <MatchRow label="Everything" match={reproducibility.bytes} />
          <MatchRow label="Decisions" match={reproducibility.decision} />
          <MatchRow label="Outcome" match={reproducibility.outcome} />
        </tbody>
      </table>
      <p className={shared.note}>{driftText(drift)}</p>
    </section>
  );
}

function MatchRow({ label, match }: { label: string; match: ReplayMatch }) {
  return (
    <tr>
      <th scope="row">{label}</th>
      <td>{match.of === 0 ? UNKNOWN : `${match.matched} of ${match.of}`}</td>
      <td>{match.upper95 === null ? UNKNOWN : formatPercent(match.upper95)}</td>
    </tr>
  );
}

/** Whether today's unedited attempts still do what was recorded. */
export function driftText(drift: ReplayVerdict["drift"]): string {
  const { measured, ratio, p, changed } = drift;
  const parts: string[] = [];
  if (measured === null) parts.push("Drift is unknown: too few unedited attempts.");
  else if (measured) {
    const distance = ratio === null ? "farther" : `${ratio.toFixed(1)} times as far`;
    const than = ratio === null ? "than" : "as";
    parts.push(
      `Drifted: the recording is ${distance} from today's unedited attempts ${than} they are from each other.`,
    );
  } else parts.push("No drift found: the recording looks like today's unedited attempts.");
  if (p !== null && measured !== null) parts.push(`p = ${formatP(p)}.`);
  if (changed.length > 0) parts.push(`Changed since the recording: ${changed.join(", ")}.`);
  return parts.join(" ");
}

function Exposure({ verdict: { exposure } }: { verdict: ReplayVerdict }) {
  const { controls, treatments, live_share: live, taint_share: taint } = exposure;
  const sources = sourcesOf(controls, treatments) as (keyof typeof controls)[];
  return (
    <section className={shared.panel} aria-label="Where results came from" data-testid="exposure">
      <h2 className={shared.heading}>Where results came from</h2>
      <p className={shared.lead}>
        {live === null
          ? "The live share is unknown."
          : `${formatPercent(live)} of calls after the edit were live`}
        {live !== null &&
          (taint === null ? "." : `, ${formatPercent(taint)} had a similar or stale result.`)}
      </p>
      {sources.length > 0 && (
        <table className={classes.matches}>
          <thead>
            <tr>
              <th scope="col">Steps</th>
              <th scope="col">{ROLES.control}</th>
              <th scope="col">{ROLES.treatment}</th>
            </tr>
          </thead>
          <tbody>
            {sources.map((source) => (
              <tr key={source}>
                <th scope="row" title={SOURCES[source]?.hint}>
                  {sourceLabel(source)}
                </th>
                <td>{formatCount(controls[source])}</td>
                <td>{formatCount(treatments[source])}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
