import type { FailureState } from "@/api/types";
import classes from "./State.module.css";

/** Says whether a group is resolved, muted or regressed. */
export function StateBadge({ state: { state, regression } }: { state: FailureState }) {
  if (regression) return <span className={classes.regressed}>Regressed</span>;
  if (state === "open") return null;
  return <span className={classes.badge}>{state === "muted" ? "Muted" : "Resolved"}</span>;
}
