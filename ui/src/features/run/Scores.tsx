import { ActionIcon, Badge, Button, Group, Stack, Text, Textarea, TextInput, Tooltip } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import { Link } from "react-router";
import { useDeleteScore, usePutScore, useScores } from "@/api/scores";
import type { Score } from "@/api/types";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { formatTime } from "@/components/format";
import { ProblemPanel } from "@/components/ProblemPanel";
import { allows, useProject } from "@/components/useProject";
import { readValue } from "./scoreValue";

interface Props {
  projectId: string;
  runId: string;
  /** The scored span. Null for the run, which also shows the scores of its spans. */
  spanId: string | null;
  /** Opens a span. Missing where only one span is shown. */
  onOpen?: (spanId: string) => void;
}

/** The scores of a run or a span, and a form to add one. */
export function Scores({ projectId, runId, spanId, onOpen }: Props) {
  const scores = useScores(projectId, runId);
  const remove = useDeleteScore(projectId, runId);
  const mayWrite = allows(useProject(), "runs:write");
  const [deleting, setDeleting] = useState<Score | null>(null);
  const close = () => {
    remove.reset();
    setDeleting(null);
  };
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
          onDelete={mayWrite ? () => setDeleting(score) : undefined}
          onOpen={onOpen}
        />
      ))}
      {scores.data?.has_more && (
        <Text size="xs" c="dimmed">
          Showing the newest {scores.data.limit} scores.
        </Text>
      )}
      {mayWrite && <AddScore projectId={projectId} runId={runId} spanId={spanId} />}
      {deleting && (
        <ConfirmDialog
          title={`Delete the score “${deleting.name}”?`}
          action="Delete score"
          mutation={remove}
          onConfirm={() => remove.mutate(deleting.id, { onSuccess: close })}
          onClose={close}
        >
          You can't undo this.
        </ConfirmDialog>
      )}
    </Stack>
  );
}

interface RowProps {
  projectId: string;
  score: Score;
  /** Missing if the user may not delete scores. */
  onDelete?: () => void;
  onOpen?: (spanId: string) => void;
}

function ScoreRow({ projectId, score, onDelete, onOpen }: RowProps) {
  const { span_id: spanId } = score;
  return (
    <div data-testid="score">
      <Group gap="xs" wrap="nowrap">
        <Text fw={550} size="sm">
          <bdi>{score.name}</bdi>
        </Text>
        {score.value !== null && (
          <Badge variant="light" tt="none">
            <bdi>{score.label ? `${score.label} (${String(score.value)})` : String(score.value)}</bdi>
          </Badge>
        )}
        {onDelete && (
          <Tooltip label="Delete this score">
            <ActionIcon
              variant="subtle"
              color="gray"
              size="sm"
              ml="auto"
              aria-label={`Delete the score ${score.name}`}
              onClick={onDelete}
            >
              <IconTrash size={14} aria-hidden="true" />
            </ActionIcon>
          </Tooltip>
        )}
      </Group>
      {score.comment && (
        <Text size="sm" dir="auto" style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
          {score.comment}
        </Text>
      )}
      <Text size="xs" c="dimmed">
        {score.source} · <Author author={score.author} projectId={projectId} /> ·{" "}
        {formatTime(score.updated_at)}
        {spanId && onOpen && (
          <>
            {" · "}
            <Button size="compact-xs" variant="subtle" onClick={() => onOpen(spanId)}>
              span {spanId}
            </Button>
          </>
        )}
      </Text>
    </div>
  );
}

/** Who gave a score: a person, a key, or a rule, by the name that it had then. */
function Author({ author, projectId }: { author: Score["author"]; projectId: string }) {
  if (author === null) return "sent with the span";
  if (author.kind !== "rule") return author.name;
  return (
    <>
      rule{" "}
      <Link to={`/p/${projectId}/rules/${author.id}`}>
        <bdi>{author.name}</bdi>
      </Link>
    </>
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
