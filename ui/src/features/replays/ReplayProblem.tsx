import { Alert, Button, Group } from "@mantine/core";
import { IconAlertTriangle, IconInfoCircle, IconPlayerPlay } from "@tabler/icons-react";
import { Link } from "react-router";
import type { Replay } from "@/api/types";
import { isOfConnection, replayProblem } from "./words";

interface Props {
  /** A replay or a batch. */
  of: Pick<Replay, "project_id" | "status" | "error" | "stop_reason">;
  testId: string;
  /** Makes the missing attempts. Without it there are none, or they can't be made. */
  onMore?: () => void;
  /** Where the run can be replayed instead. */
  newReplay?: string;
}

/** Why a replay or a batch ended before all attempts were made, and what helps. */
export function ReplayProblem({ of, testId, onMore, newReplay }: Props) {
  const problem = replayProblem(of);
  if (!problem) return null;
  const isFailed = of.status === "failed";
  const isConnection = isOfConnection(of.error, of.stop_reason);
  return (
    <Alert
      role={isFailed ? "alert" : undefined}
      variant={isFailed ? "outline" : "light"}
      color={isFailed ? "red" : "gray"}
      c={isFailed ? undefined : "var(--lt-text)"}
      icon={isFailed ? <IconAlertTriangle size={18} /> : <IconInfoCircle size={16} />}
      title={problem.title}
      mb="md"
      data-testid={testId}
      style={{ overflowWrap: "anywhere" }}
    >
      {problem.text}
      {(isConnection || onMore || newReplay !== undefined) && (
        <Group gap="xs" mt="xs">
          {isConnection && (
            <Button
              component={Link}
              to={`/p/${of.project_id}/settings/providers`}
              size="compact-sm"
              variant="default"
            >
              Open providers
            </Button>
          )}
          {onMore && (
            <Button
              size="compact-sm"
              variant="default"
              leftSection={<IconPlayerPlay size={14} />}
              onClick={onMore}
            >
              Make the missing attempts…
            </Button>
          )}
          {newReplay !== undefined && (
            <Button component={Link} to={newReplay} size="compact-sm" variant="default">
              New replay of this run…
            </Button>
          )}
        </Group>
      )}
    </Alert>
  );
}
