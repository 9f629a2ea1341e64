import type { ReplayMissing } from "@/api/types";
import { formatCount } from "@/components/format";
import classes from "./Replays.module.css";

/** What is lacking by what to do about it: one remedy may be for several. */
function byRemedy(missing: readonly ReplayMissing[]): [string, ReplayMissing[]][] {
  const groups = new Map<string, ReplayMissing[]>();
  for (const one of missing) groups.set(one.remedy, [...(groups.get(one.remedy) ?? []), one]);
  return [...groups];
}

/** What a recording lacks, and how to record it. */
export function Missing({ missing }: { missing: readonly ReplayMissing[] }) {
  return (
    <ul className={classes.missing} data-testid="missing">
      {byRemedy(missing).map(([remedy, lacks]) => (
        <li key={remedy}>
          {lacks.map(({ code, detail, steps }) => (
            <span key={code} className={classes.lack}>
              <b>{detail}</b>
              {steps > 0 && ` ${formatCount(steps)} ${steps === 1 ? "step" : "steps"}.`}
            </span>
          ))}
          <span className={classes.remedy}>{remedy}</span>
        </li>
      ))}
    </ul>
  );
}
