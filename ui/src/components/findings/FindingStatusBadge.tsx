import { IconCheck, IconHelp, IconX } from "@tabler/icons-react";
import type { FindingStatus } from "@/api/types";
import classes from "./Findings.module.css";
import { STATUSES } from "./words";

const shapes = { open: IconHelp, confirmed: IconCheck, refuted: IconX };

/** What people hold of a finding, by shape and words. */
export function FindingStatusBadge({ status, text }: { status: FindingStatus; text?: string }) {
  const Shape = shapes[status];
  return (
    <span className={classes.badge} data-status={status} data-testid="finding-status">
      <Shape size={12} stroke={2} aria-hidden="true" />
      {text ?? STATUSES[status]}
    </span>
  );
}
