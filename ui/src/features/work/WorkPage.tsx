import { Button, Progress, Select, Text } from "@mantine/core";
import { useState } from "react";
import { Link } from "react-router";
import type { Work, WorkSelection } from "@/api/types";
import { isOpen, useCancelWork, useWork } from "@/api/work";
import { Ago } from "@/components/Ago";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { DataTable } from "@/components/DataTable";
import { EmptyHint } from "@/components/EmptyHint";
import shared from "@/components/evaluation/Evaluation.module.css";
import { EvaluationStatusMark } from "@/components/evaluation/Marks";
import { formatTime, NONE } from "@/components/format";
import { ListPage } from "@/components/ListPage";
import { useAddress } from "@/components/useAddress";
import { useNow } from "@/components/useNow";
import { useProjectId } from "@/components/useProject";
import { KINDS, pathOf, progressText, STATES, waitText } from "./words";

/** What of a project takes longer than a request: what runs, what it waits for, and what has ended. */
export function WorkPage() {
  const projectId = useProjectId();
  const { params, set, clear } = useAddress();
  const selection = readSelection(params);
  const query = useWork(projectId, selection);
  const now = useNow(10_000);
  const [cancelling, setCancelling] = useState<Work | null>(null);
  const select = (name: "state" | "kind", label: string, words: Record<string, string>) => (
    <Select
      size="xs"
      w={170}
      aria-label={label}
      placeholder={`Any ${name}`}
      data={Object.entries(words).map(([value, text]) => ({ value, label: text }))}
      value={selection[name] ?? null}
      onChange={(value) => set({ [name]: value })}
      clearable
      clearButtonProps={{ "aria-label": `Clear ${name}` }}
    />
  );
  return (
    <>
      <ListPage<Work>
        title="Work"
        context="Imports, comparisons, eval-runs, replays, batches of replays, diagnoses and checks for near-duplicates: what runs, and what it waits for."
        tools={
          <search className={shared.filters}>
            {select("state", "State", STATES)}
            {select("kind", "Kind", KINDS)}
          </search>
        }
        query={query}
        what="work"
        rowHeight={40}
        emptyTitle="No work yet."
        emptyHint={
          <EmptyHint
            purpose="What takes longer than a request is listed here while it waits, runs and after it has ended."
            action={
              <Button component={Link} to={`/p/${projectId}/datasets`}>
                Open the datasets
              </Button>
            }
          />
        }
        onClearFilters={params.size > 0 ? clear : undefined}
      >
        {(rows) => <Rows rows={rows} projectId={projectId} now={now} onCancel={setCancelling} />}
      </ListPage>
      {cancelling && <CancelDialog work={cancelling} onClose={() => setCancelling(null)} />}
    </>
  );
}

function readSelection(params: URLSearchParams): WorkSelection {
  const state = params.get("state");
  const kind = params.get("kind");
  return {
    state: state !== null && state in STATES ? (state as WorkSelection["state"]) : undefined,
    kind: kind !== null && kind in KINDS ? (kind as WorkSelection["kind"]) : undefined,
  };
}

function CancelDialog({ work, onClose }: { work: Work; onClose: () => void }) {
  const cancel = useCancelWork(work);
  return (
    <ConfirmDialog
      title={`Cancel “${work.name || KINDS[work.kind]}”?`}
      action="Cancel the work"
      closeLabel="Keep it"
      mutation={cancel}
      onConfirm={() => cancel.mutate(undefined, { onSuccess: onClose })}
      onClose={onClose}
    >
      {work.kind === "import"
        ? "Nothing of the file is imported."
        : "What was done so far is kept, but no more is done."}
    </ConfirmDialog>
  );
}

interface RowsProps {
  rows: Work[];
  projectId: string;
  now: number;
  onCancel: (work: Work) => void;
}

function Rows({ rows, projectId, now, onCancel }: RowsProps) {
  return (
    <DataTable
      label="Work"
      stacks
      rows={rows}
      rowKey={({ id }) => id}
      rowProps={({ id, status }) => ({ "data-testid": "work-row", "data-work": id, "data-status": status })}
      columns={[
        {
          header: "Name",
          title: ({ name }) => name,
          cell: (row) => (
            <Link to={`/p/${projectId}/${pathOf(row)}`} className={shared.name} data-row-focus>
              <bdi>{row.name || KINDS[row.kind]}</bdi>
            </Link>
          ),
        },
        { header: "Kind", cell: ({ kind }) => KINDS[kind] },
        { header: "Status", cell: (row) => <Status row={row} now={now} /> },
        {
          header: "By",
          cell: ({ created_by }) => created_by.email ?? created_by.key ?? NONE,
        },
        {
          header: "Added",
          number: true,
          cell: ({ created_at }) => <Ago time={created_at} now={now} />,
        },
        {
          header: "Actions",
          cell: (row) =>
            isOpen(row) && (
              <Button
                variant="subtle"
                size="compact-xs"
                aria-label={`Cancel ${row.name || KINDS[row.kind]}`}
                onClick={() => onCancel(row)}
              >
                Cancel
              </Button>
            ),
        },
      ]}
    />
  );
}

function Status({ row, now }: { row: Work; now: number }) {
  const { done, total } = row.progress;
  if (!isOpen(row)) {
    return (
      <>
        {row.status !== "uploading" && <EvaluationStatusMark status={row.status} />}
        {row.error && <Text size="xs">{row.error.detail}</Text>}
      </>
    );
  }
  return (
    <div className={shared.running}>
      {row.status === "uploading" ? (
        <Text size="xs">Uploading</Text>
      ) : (
        <EvaluationStatusMark status={row.status} />
      )}
      <Text size="xs" style={{ whiteSpace: "normal" }}>
        {row.waits ? waitText(row.waits) : progressText(row)}
        {row.waits?.until &&
          (Date.parse(row.waits.until) > now ? ` at ${formatTime(row.waits.until)}` : " now")}
      </Text>
      {row.waits?.for !== "turn" && total !== null && (
        <Progress
          size="sm"
          value={total > 0 ? (100 * done) / total : 0}
          aria-label={`Progress of ${row.name || KINDS[row.kind]}`}
        />
      )}
    </div>
  );
}
