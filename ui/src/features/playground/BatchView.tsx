import { Button, Group, Progress, Stack, Text } from "@mantine/core";
import { IconTable } from "@tabler/icons-react";
import { Link } from "react-router";
import { whyOf } from "@/api/problem";
import type { Completion } from "@/api/types";
import { DataTable } from "@/components/DataTable";
import { Dialog } from "@/components/Dialog";
import { firstWords, formatCost, formatCount, formatDuration, NONE } from "@/components/format";
import { ProblemPanel } from "@/components/ProblemPanel";
import { textOf } from "./answer";
import { type BatchRow, costOf } from "./batch";
import { type Batch, batches } from "./batches";
import { jsonText } from "./opened";
import classes from "./Playground.module.css";

interface Props {
  projectId: string;
  batch: Batch;
}

/** How far a batch is, and the answer to each item. */
export function BatchView({ projectId, batch }: Props) {
  const { rows, isRunning, error } = batch;
  return (
    <Stack gap="sm">
      {isRunning && (
        <>
          <Progress value={100 * shareOf(batch)} aria-label="Answered items" />
          <Text size="xs" c="dimmed">
            You can close this; it keeps running, and the playground shows its progress.
          </Text>
        </>
      )}
      {error && <ProblemPanel error={error} />}
      <Text size="sm" role="status" data-testid="batch-summary">
        {summaryOf(batch)}
      </Text>
      {rows && rows.length > 0 && <Rows rows={rows} projectId={projectId} />}
    </Stack>
  );
}

/** A batch that was started before. */
export function BatchResultDialog({ projectId, batch, onClose }: Props & { onClose: () => void }) {
  return (
    <Dialog onClose={onClose} title={`${batch.column} over “${batch.dataset.name}”`} size={1000}>
      <Stack gap="sm">
        <BatchView projectId={projectId} batch={batch} />
        <Group justify="flex-end">
          {batch.isRunning && (
            <Button variant="default" onClick={() => batches.cancel(batch.id)}>
              Cancel
            </Button>
          )}
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}

interface NoticeProps {
  batch: Batch;
  onShow: () => void;
}

/** One line about a batch whose dialog is closed. */
export function BatchNotice({ batch, onShow }: NoticeProps) {
  const name = `${batch.column} over “${batch.dataset.name}”`;
  return (
    <div className={classes.batch} data-testid="batch-notice">
      <IconTable size={14} aria-hidden="true" />
      <span>{name}</span>
      {batch.isRunning && (
        <Progress w={90} value={100 * shareOf(batch)} aria-label={`Answered items, ${name}`} />
      )}
      <span className={classes.note} role="status">
        {summaryOf(batch)}
      </span>
      <Group gap={4}>
        <Button size="compact-xs" variant="default" aria-label={`Show ${name}`} onClick={onShow}>
          Show
        </Button>
        {batch.isRunning ? (
          <Button
            size="compact-xs"
            variant="default"
            aria-label={`Cancel ${name}`}
            onClick={() => batches.cancel(batch.id)}
          >
            Cancel
          </Button>
        ) : (
          <Button
            size="compact-xs"
            variant="subtle"
            color="gray"
            aria-label={`Dismiss ${name}`}
            onClick={() => batches.remove(batch.id)}
          >
            Dismiss
          </Button>
        )}
      </Group>
    </div>
  );
}

function shareOf({ rows }: Batch): number {
  if (rows === null || rows.length === 0) return 0;
  return rows.filter(({ state }) => state !== "waiting" && state !== "running").length / rows.length;
}

function summaryOf({ rows, isRunning, error }: Batch): string {
  if (rows === null) {
    if (error) return "The items couldn't be read";
    return isRunning ? "Reading the items…" : "Cancelled before the items were read";
  }
  if (rows.length === 0) return "The dataset has no items";
  const count = (state: BatchRow["state"]) => rows.filter((row) => row.state === state).length;
  const { usd, unknown } = costOf(rows);
  const parts = [
    `${count("done")} of ${rows.length} done`,
    ...(count("failed") > 0 ? [`${count("failed")} failed`] : []),
    ...(count("cancelled") > 0 ? [`${count("cancelled")} cancelled`] : []),
    ...(unknown < count("done") ? [formatCost(usd)] : []),
    ...(unknown > 0 ? [`${formatCount(unknown)} of unknown cost`] : []),
  ];
  return parts.join(" · ");
}

function Rows({ rows, projectId }: { rows: readonly BatchRow[]; projectId: string }) {
  return (
    <DataTable
      label="Answers"
      stacks
      rows={rows}
      rowKey={({ id }) => id}
      rowProps={({ state }) => ({ "data-testid": "batch-row", "data-state": state })}
      columns={[
        {
          header: "Input",
          cell: ({ variables }) => (variables ? firstWords(jsonText(variables), 90) : NONE),
        },
        { header: "State", cell: ({ state }) => state },
        {
          header: "Output",
          ownLine: true,
          cell: ({ completion, error }) =>
            completion ? firstWords(outputOf(completion), 160) : error ? whyOf(error) : "",
        },
        {
          header: "Duration",
          number: true,
          cell: ({ completion }) => (completion ? formatDuration(completion.duration_ms) : ""),
        },
        {
          header: "Cost",
          number: true,
          cell: ({ completion }) => (completion ? formatCost(completion.cost_usd) : ""),
        },
        {
          header: "Run",
          cell: ({ completion }) =>
            completion && <Link to={`/p/${projectId}/runs/${completion.run_id}`}>Run</Link>,
        },
      ]}
    />
  );
}

/** The text of an answer, or the tools that it calls. */
function outputOf({ message }: Completion): string {
  const text = textOf(message);
  return text === "" && message.tool_calls ? jsonText(message.tool_calls) : text;
}
