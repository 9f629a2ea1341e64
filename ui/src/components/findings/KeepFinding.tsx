import { Select, Stack, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import { useCreateFinding } from "@/api/findings";
import { useReplayBatches } from "@/api/replayBatches";
import type { FindingStatus, ReplayBatch } from "@/api/types";
import { FormDialog } from "@/components/FormDialog";
import { candidateOf, STATUSES } from "./words";

const statusChoices = Object.entries(STATUSES).map(([value, label]) => ({ value, label }));

interface FieldsProps {
  status: FindingStatus;
  note: string;
  onStatus: (status: FindingStatus) => void;
  onNote: (note: string) => void;
}

/** What someone holds of a finding, and why. */
export function StatusFields({ status, note, onStatus, onNote }: FieldsProps) {
  return (
    <>
      <Select
        label="Status"
        data={statusChoices}
        value={status}
        onChange={(chosen) => chosen && onStatus(chosen as FindingStatus)}
        allowDeselect={false}
      />
      <Textarea
        label="Note"
        description="Everyone in the project sees it."
        maxLength={2000}
        autosize
        minRows={2}
        maxRows={8}
        value={note}
        onChange={(event) => onNote(event.currentTarget.value)}
      />
    </>
  );
}

interface Props {
  projectId: string;
  fingerprint: string;
  /** The batch that tested it. Without it, one of the group's can be chosen. */
  batch?: ReplayBatch;
  onClose: () => void;
}

/** Keeps what was learnt about a group of failed runs. */
export function KeepFinding({ projectId, fingerprint, batch, onClose }: Props) {
  const create = useCreateFinding(projectId);
  const start = batch ? candidateOf(batch.edits) : null;
  const [title, setTitle] = useState(start?.title ?? "");
  const [status, setStatus] = useState<FindingStatus>(
    batch?.result?.chosen.verdict === "better" ? "confirmed" : "open",
  );
  const [note, setNote] = useState("");
  const [tested, setTested] = useState<ReplayBatch | null>(batch ?? null);
  const submit = () =>
    create.mutate(
      {
        project_id: projectId,
        fingerprint,
        candidate: { kind: tested ? candidateOf(tested.edits).kind : "diagnosis", title: title.trim() },
        batch_id: tested?.id,
        status,
        note: note.trim() || undefined,
      },
      { onSuccess: onClose },
    );
  return (
    <FormDialog
      title={batch ? "Keep as finding" : "Add a finding"}
      action="Keep finding"
      mutation={create}
      onSubmit={submit}
      onClose={onClose}
      disabled={title.trim() === ""}
      size="lg"
    >
      <Stack gap="sm">
        <TextInput
          label="Cause"
          description="One sentence: why these runs fail."
          placeholder="The prompt does not say to ask for the order number"
          maxLength={500}
          required
          data-autofocus
          value={title}
          onChange={(event) => setTitle(event.currentTarget.value)}
        />
        {!batch && (
          <TestedBy projectId={projectId} fingerprint={fingerprint} value={tested} onChange={setTested} />
        )}
        <StatusFields status={status} note={note} onStatus={setStatus} onNote={setNote} />
      </Stack>
    </FormDialog>
  );
}

interface TestedByProps {
  projectId: string;
  fingerprint: string;
  value: ReplayBatch | null;
  onChange: (batch: ReplayBatch | null) => void;
}

/** A batch of replays over runs of the group. */
function TestedBy({ projectId, fingerprint, value, onChange }: TestedByProps) {
  const query = useReplayBatches(projectId, {});
  const batches = (query.data?.pages.flatMap(({ data }) => data) ?? []).filter(
    ({ run_filter: filter }) => new URLSearchParams(filter ?? "").get("fingerprint") === fingerprint,
  );
  return (
    <Select
      label="Tested by"
      description="A batch of replays over these runs. Its edits and its verdict belong to the finding."
      placeholder={
        query.isPending ? "Loading…" : batches.length === 0 ? "No batch of these runs yet" : "Not tested"
      }
      data={batches.map(({ id, name }) => ({ value: id, label: name }))}
      value={value?.id ?? null}
      onChange={(id) => onChange(batches.find((batch) => batch.id === id) ?? null)}
      clearable
      clearButtonProps={{ "aria-label": "Clear: Tested by" }}
      disabled={batches.length === 0}
      error={query.error?.message}
    />
  );
}
