import type { PanelCategory } from "@/api/types";
import { formatCount, formatPercent } from "@/components/format";
import classes from "./Evaluation.module.css";
import { Interval } from "./Interval";
import own from "./Shares.module.css";

/** The shares of the labels of a panel, with their intervals and how many outputs have them. */
export function Shares({ label: name, categories }: { label: string; categories: PanelCategory[] }) {
  return (
    <ul className={own.categories} aria-label={name} data-testid="categories">
      {categories.map(({ label, outputs, share, ci }) => (
        <li key={label}>
          <bdi className={own.category}>{label}</bdi>
          <span className={own.track} aria-hidden="true">
            <span style={{ width: `${100 * share}%` }} />
          </span>
          <span className={classes.count}>
            {formatPercent(share)} <span className={classes.dim}>({formatCount(outputs)})</span>
            <Interval ci={ci} format={formatPercent} />
          </span>
        </li>
      ))}
    </ul>
  );
}
