import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { ApiError, type Problem } from "@/api/problem";
import { CopyButton } from "./CopyButton";

interface Props {
  error: Error;
  onRetry?: () => void;
}

/** A failed request: what failed and why, what to do, and the request id for the log. */
export function ProblemPanel({ error, onRetry }: Props) {
  const problem = error instanceof ApiError ? error.problem : null;
  const { detail, fields } = told(problem);
  return (
    <Alert
      role="alert"
      variant="outline"
      color="red"
      icon={<IconAlertTriangle size={18} />}
      title={error.message}
      data-testid="problem"
      ta="left"
      style={{ overflowWrap: "anywhere" }}
    >
      <Stack gap="xs">
        {(detail !== "" || fields.length === 0) && <Text size="sm">{detail || advice(error)}</Text>}
        {fields.map(({ location, message }) => (
          <Text key={location + message} size={detail === "" ? "sm" : "xs"}>
            <code>{location}</code> {message}
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

/** What a problem tells besides its title, each thing once. Its fields have their names in the form. */
function told(problem: Problem | null): { detail: string; fields: { location: string; message: string }[] } {
  const all = problem?.errors ?? [];
  // This detail says that there are fields.
  const detail = problem?.code === "validation_failed" && all.length > 0 ? "" : (problem?.detail ?? "");
  const fields = all
    .filter(({ message }) => !detail.includes(message))
    .map(({ location, message }) => ({ location: location.replace(/^body\./, ""), message }));
  return { detail, fields };
}

function advice(error: Error): string {
  if (!(error instanceof ApiError)) return "Reload the page to continue.";
  if (error.status === 0)
    return "Check that Looptrace is running. `looptrace doctor` finds out what is wrong.";
  if (error.status === 403) return "Your role doesn't allow this. Ask an owner of the project.";
  if (error.status === 404) return "It doesn't exist or was deleted.";
  return "Try again. If it keeps failing, look in the server's log.";
}
