import type { ReplayVerdict } from "@/api/types";
import shared from "@/components/evaluation/Evaluation.module.css";
import classes from "./Evidence.module.css";
import { foundChannels, shownChannels } from "./evidence";
import { CHANNELS, effectText } from "./words";

/** What the edits change, a line for each measure. */
export function Effects({ verdict }: { verdict: ReplayVerdict }) {
  const { channels } = verdict;
  const found = foundChannels(verdict);
  return (
    <section className={`${shared.panel} ${classes.effects}`} aria-label="Effects" data-testid="effects">
      <h2 className={shared.heading}>What the edits change</h2>
      <dl>
        {shownChannels(channels).map((name) => (
          <div key={name} data-channel={name}>
            <dt>{CHANNELS[name].label}</dt>
            <dd className={found.includes(name) ? classes.found : undefined}>
              {effectText(name, channels[name], found.includes(name))}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
