import { Button, Group, NumberInput, Stack, Text } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { Link } from "react-router";
import { fetchItems } from "@/api/datasets";
import { complete } from "@/api/playground";
import { ApiError } from "@/api/problem";
import type { Completion, Dataset } from "@/api/types";
import { DatasetChoice } from "@/components/DatasetChoice";
import { DataTable } from "@/components/DataTable";
import { Dialog } from "@/components/Dialog";
import { firstWords, formatCost, formatCount, formatDuration, NONE } from "@/components/format";
import { ProblemPanel } from "@/components/ProblemPanel";
import { textOf } from "./answer";
import { type BatchRow, costOf, MAX_ITEMS, runBatch, variablesFrom } from "./batch";
import { jsonText } from "./opened";
import type { Prepared } from "./play";

interface Props {
  projectId: string;
  number: number;
  /** The variables that the column's messages use. */
  variables: readonly string[];
  /** The request with the variables of an item. */
  prepare: (variables: Record<string, unknown>) => Prepared;
  onClose: () => void;
}

/** Runs a column over the first items of a dataset. Closing it cancels what is under way. */
export function BatchDialog({ projectId, number, variables, prepare, onClose }: Props) {
  const [dataset, setDataset] = useState<Dataset | null>(null);
  const [count, setCount] = useState<number | string>(5);
  const [rows, setRows] = useState<BatchRow[]>([]);
  const [error, setError] = useState<Error | null>(null);
  const [isRunning, setRunning] = useState(false);
  const request = useRef<AbortController>(undefined);
  useEffect(() => () => request.current?.abort(), []);

  const call = (row: BatchRow, signal: AbortSignal): Promise<Completion> => {
    const { draft, problems } = prepare(row.variables ?? {});
    return draft ? complete(draft, signal) : Promise.reject(new Error(problems.join(" ")));
  };
  const run = async (event: React.FormEvent) => {
    event.preventDefault();
    if (!dataset) return;
    const abort = new AbortController();
    request.current = abort;
    setRunning(true);
    setError(null);
    setRows([]);
    try {
      const limit = Math.min(MAX_ITEMS, Math.max(1, Number(count) || 1));
      const { data } = await fetchItems(dataset.id, {}, limit, undefined, abort.signal);
      const items = data.map(({ id, input }): BatchRow => {
        const given = variablesFrom(input, variables);
        return {
          id,
          variables: given,
          state: given ? "waiting" : "failed",
          completion: null,
          error: given ? null : new Error(`The input has no ${missing(input, variables).join(", ")}.`),
        };
      });
      setRows(items);
      await runBatch(items, call, abort.signal, (changed) =>
        setRows((known) => known.map((row) => (row.id === changed.id ? changed : row))),
      );
    } catch (failure) {
      if (!abort.signal.aborted) setError(failure as Error);
    } finally {
      setRunning(false);
    }
  };
  return (
    <Dialog onClose={onClose} title={`Run column ${number} over a dataset`} size={1000}>
      <form onSubmit={(event) => void run(event)}>
        <Stack gap="sm">
          <Group align="flex-end" gap="sm">
            <div style={{ flex: "1 1 240px" }}>
              <DatasetChoice projectId={projectId} value={dataset} onChange={setDataset} />
            </div>
            <NumberInput
              label="First items"
              w={100}
              min={1}
              max={MAX_ITEMS}
              allowDecimal={false}
              clampBehavior="strict"
              value={count}
              onChange={(value) => setCount(typeof value === "bigint" ? Number(value) : value)}
            />
            {isRunning ? (
              <Button variant="default" onClick={() => request.current?.abort()}>
                Cancel
              </Button>
            ) : (
              <Button type="submit" disabled={!dataset}>
                Run
              </Button>
            )}
          </Group>
          <Text size="xs" c="dimmed">
            {variables.length === 0
              ? "The messages have no variables, so each item gets the same request."
              : `Each item's input gives ${variables.join(", ")}.`}
          </Text>
          {error && <ProblemPanel error={error} />}
          <div role="status">{rows.length > 0 && <Summary rows={rows} />}</div>
          {rows.length > 0 && <Rows rows={rows} projectId={projectId} />}
        </Stack>
      </form>
    </Dialog>
  );
}

function missing(input: unknown, names: readonly string[]): string[] {
  return names.filter((name) => variablesFrom(input, [name, `${name} `]) === null);
}

function Summary({ rows }: { rows: BatchRow[] }) {
  const count = (state: BatchRow["state"]) => rows.filter((row) => row.state === state).length;
  const { usd, unknown } = costOf(rows);
  const parts = [
    `${count("done")} of ${rows.length} done`,
    ...(count("failed") > 0 ? [`${count("failed")} failed`] : []),
    ...(count("cancelled") > 0 ? [`${count("cancelled")} cancelled`] : []),
    ...(unknown < count("done") ? [formatCost(usd)] : []),
    ...(unknown > 0 ? [`${formatCount(unknown)} of unknown cost`] : []),
  ];
  return (
    <Text size="sm" data-testid="batch-summary">
      {parts.join(" · ")}
    </Text>
  );
}

function Rows({ rows, projectId }: { rows: BatchRow[]; projectId: string }) {
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
            completion ? firstWords(outputOf(completion), 160) : error ? messageOf(error) : "",
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

function messageOf(error: Error): string {
  return error instanceof ApiError ? (error.problem?.detail ?? error.message) : error.message;
}
