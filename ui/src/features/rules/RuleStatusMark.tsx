import { Badge } from "@mantine/core";
import { IconAlertTriangle, IconCheck, IconPlayerPause } from "@tabler/icons-react";
import type { EvalRuleStatus } from "@/api/types";
import { STATUSES } from "./rules";

const icons = { active: IconCheck, paused: IconPlayerPause, stopped: IconAlertTriangle };

/** The status of a rule, by shape and word. */
export function RuleStatusMark({ status }: { status: EvalRuleStatus }) {
  const Shape = icons[status];
  const isStopped = status === "stopped";
  return (
    <Badge
      flex="none"
      size="sm"
      tt="none"
      variant={isStopped ? "outline" : "light"}
      color={isStopped ? "red" : "gray"}
      c={isStopped ? "var(--lt-error-text)" : "var(--lt-text)"}
      leftSection={<Shape size={12} aria-hidden="true" />}
      data-testid="rule-status"
      data-status={status}
    >
      {STATUSES[status]}
    </Badge>
  );
}
