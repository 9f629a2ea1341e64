import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { ApiError } from "@/api/problem";
import { CopyButton } from "./CopyButton";

interface Props {
  error: Error;
  onRetry?: () => void;
}

/** A failed request: what, why, what to do, and the id that finds it in the log. */
export function ProblemPanel({ error, onRetry }: Props) {
  const problem = error instanceof ApiError ? error.problem : null;
  return (
    <Alert
      role="alert"
      variant="outline"
      color="red"
      icon={<IconAlertTriangle size={18} />}
      title={error.message}
      data-testid="problem"
    >
      <Stack gap="xs">
        <Text size="sm">{problem?.detail ?? advice(error)}</Text>
        {problem?.errors?.map((item) => (
          <Text key={item.location + item.message} size="xs" c="dimmed">
            <code>{item.location}</code> {item.message}
          </Text>
        ))}
        <Group gap="xs">
          {onRetry && (
            <Button size="compact-sm" variant="default" onClick={onRetry}>
              Retry
            </Button>
          )}
          {problem?.request_id && (
            <Group gap={4} wrap="nowrap">
              <Text size="xs" c="dimmed">
                Request <code>{problem.request_id}</code>
              </Text>
              <CopyButton value={problem.request_id} what="request id" />
            </Group>
          )}
        </Group>
      </Stack>
    </Alert>
  );
}

function advice(error: Error): string {
  if (!(error instanceof ApiError)) return "This page failed. Reload it to go on.";
  if (error.status === 0) return "Is Looptrace still running? `looptrace doctor` says what is wrong.";
  if (error.status === 403) return "Your role in this project does not allow it. Ask one of its owners.";
  if (error.status === 404) return "It does not exist, or not in a project of yours.";
  return "Try again; if it stays, the server's log says more.";
}
