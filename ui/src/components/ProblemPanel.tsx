import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { ApiError } from "@/api/problem";
import { CopyButton } from "./CopyButton";

interface Props {
  error: Error;
  onRetry?: () => void;
}

/** A failed request: what happened, what to do, and the request id for the log. */
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
      ta="left"
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
  if (!(error instanceof ApiError)) return "Reload the page to continue.";
  if (error.status === 0)
    return "Check that Looptrace is running. `looptrace doctor` finds out what is wrong.";
  if (error.status === 403) return "Your role doesn't allow this. Ask an owner of the project.";
  if (error.status === 404) return "It doesn't exist or was deleted.";
  return "Try again. If it keeps failing, look in the server's log.";
}
