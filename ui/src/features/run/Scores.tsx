import { Badge, Button, Group, Stack, Text, Textarea, TextInput, Tooltip } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import { useDeleteScore, usePutScore, useScores } from "@/api/scores";
import type { Score } from "@/api/types";
import { formatTime } from "@/components/format";
import { ProblemPanel } from "@/components/ProblemPanel";
import { allows, useProject } from "@/components/useProject";
import { readValue } from "./scoreValue";

interface Props {
  projectId: string;
  runId: string;
  /** The scored span. Null for the run, which also shows the scores of its spans. */
  spanId: string | null;
  onOpen?: (spanId: string) => void;
}

/** The scores of a run or a span, and a form to add one. */
export function Scores({ projectId, runId, spanId, onOpen }: Props) {
  const scores = useScores(projectId, runId);
  const mayWrite = allows(useProject(), "runs:write");
  const shown = scores.data?.data.filter((score) => spanId === null || score.span_id === spanId) ?? [];
  return (
    <Stack gap="sm" data-testid="scores">
      {scores.isError && <ProblemPanel error={scores.error} onRetry={() => scores.refetch()} />}
      {scores.data && shown.length === 0 && (
        <Text size="sm" c="dimmed">
          No scores yet.
        </Text>
      )}
      {shown.map((score) => (
        <ScoreRow
          key={score.id}
          projectId={projectId}
          score={score}
          mayDelete={mayWrite}
          withSpan={spanId === null}
          onOpen={onOpen}
        />
      ))}
      {scores.data?.has_more && (
        <Text size="xs" c="dimmed">
          Showing the newest {scores.data.limit} scores.
        </Text>
      )}
      {mayWrite && <AddScore projectId={projectId} runId={runId} spanId={spanId} />}
    </Stack>
  );
}

interface RowProps {
  projectId: string;
  score: Score;
  mayDelete: boolean;
  withSpan: boolean;
  onOpen?: (spanId: string) => void;
}

function ScoreRow({ projectId, score, mayDelete, withSpan, onOpen }: RowProps) {
  const remove = useDeleteScore(projectId, score.run_id);
  const [isSure, setSure] = useState(false);
  const who = score.author?.name ?? "sent with the span";
  const { span_id: spanId } = score;
  return (
    <div data-testid="score">
      <Group gap="xs" wrap="nowrap">
        <Text fw={550} size="sm">
          {score.name}
        </Text>
        {score.value !== null && (
          <Badge variant="light" tt="none">
            {score.label ? `${score.label} (${String(score.value)})` : String(score.value)}
          </Badge>
        )}
        {mayDelete && (
          <Group gap={4} ml="auto" wrap="nowrap">
            {isSure && (
              <Button
                size="compact-xs"
                color="red"
                variant="light"
                loading={remove.isPending}
                onClick={() => remove.mutate(score.id)}
              >
                Delete score
              </Button>
            )}
            {/* The same button, so that it keeps the focus. */}
            <Tooltip label="Delete this score" disabled={isSure}>
              <Button
                size="compact-xs"
                variant={isSure ? "default" : "subtle"}
                color="gray"
                aria-label={isSure ? undefined : `Delete the score ${score.name}`}
                onClick={() => setSure(!isSure)}
              >
                {isSure ? "Keep" : <IconTrash size={14} aria-hidden="true" />}
              </Button>
            </Tooltip>
          </Group>
        )}
      </Group>
      {score.comment && (
        <Text size="sm" style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
          {score.comment}
        </Text>
      )}
      <Text size="xs" c="dimmed">
        {score.source} · {who} · {formatTime(score.updated_at)}
        {withSpan && spanId && onOpen && (
          <>
            {" · "}
            <Button size="compact-xs" variant="subtle" onClick={() => onOpen(spanId)}>
              span {spanId}
            </Button>
          </>
        )}
      </Text>
      {remove.isError && <ProblemPanel error={remove.error} />}
    </div>
  );
}

function AddScore({ projectId, runId, spanId }: { projectId: string; runId: string; spanId: string | null }) {
  const put = usePutScore(projectId, runId);
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const [comment, setComment] = useState("");
  const read = readValue(value);
  const needsName = read !== undefined && name.trim() === "";
  const isEmpty = read === undefined && comment.trim() === "";
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    if (isEmpty || needsName) return;
    put.mutate(
      {
        ...(spanId && { span_id: spanId }),
        name: name.trim() || "comment",
        ...(read !== undefined && { value: read }),
        ...(comment.trim() && { comment: comment.trim() }),
      },
      {
        onSuccess: () => {
          setName("");
          setValue("");
          setComment("");
        },
      },
    );
  };
  return (
    <form onSubmit={submit} aria-label="Add a score">
      <Stack gap="xs">
        <Group gap="xs" grow>
          <TextInput
            size="xs"
            label="Name"
            placeholder="correctness"
            maxLength={200}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={needsName && value !== "" ? "Enter a name" : undefined}
          />
          <TextInput
            size="xs"
            label="Value"
            placeholder="0.8, true, good"
            maxLength={200}
            value={value}
            onChange={(event) => setValue(event.currentTarget.value)}
          />
        </Group>
        <Textarea
          size="xs"
          label="Comment"
          autosize
          minRows={2}
          maxLength={4000}
          value={comment}
          onChange={(event) => setComment(event.currentTarget.value)}
        />
        {put.isError && <ProblemPanel error={put.error} />}
        <Group>
          <Button type="submit" loading={put.isPending} disabled={isEmpty || needsName}>
            Add score
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
