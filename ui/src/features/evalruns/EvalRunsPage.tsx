import { Button, Checkbox } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useState } from "react";
import { Link } from "react-router";
import { isFinal } from "@/api/comparisons";
import { useEvalRuns } from "@/api/evalRuns";
import type { EvalRun } from "@/api/types";
import { CodeBlock } from "@/components/CodeBlock";
import { CommittedText } from "@/components/CommittedText";
import { DataTable } from "@/components/DataTable";
import { EmptyHint } from "@/components/EmptyHint";
import { newEvalRunPath } from "@/components/evalRunStart";
import { datasetColumn, RowLink, startedColumn } from "@/components/evaluation/columns";
import { DatasetFilter } from "@/components/evaluation/DatasetFilter";
import shared from "@/components/evaluation/Evaluation.module.css";
import { EvaluationStatusMark } from "@/components/evaluation/Marks";
import { STATUSES } from "@/components/evaluation/progress";
import { RunningCell } from "@/components/evaluation/Running";
import { StatusSelect } from "@/components/evaluation/StatusSelect";
import { NONE } from "@/components/format";
import { ListPage } from "@/components/ListPage";
import { PageHint } from "@/components/PageMessage";
import { useAddress } from "@/components/useAddress";
import { useNow } from "@/components/useNow";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { CompareBar } from "./CompareBar";
import classes from "./EvalRuns.module.css";
import { primaryScore, readSelection, shortCommit } from "./evalRuns";
import { MOST_RANKED } from "./ranking";
import { Score } from "./Score";
import { TrendPanel } from "./TrendPanel";

/** The eval-runs of a project, those that run among them. */
export function EvalRunsPage() {
  const projectId = useProjectId();
  const mayWrite = allows(useProject(), "evals:write");
  const { params, set, clear } = useAddress();
  const selection = readSelection(params);
  const query = useEvalRuns(projectId, selection);
  const now = useNow(10_000);
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const known = query.data?.pages.flatMap(({ data }) => data) ?? [];
  const selected = chosen.flatMap((id) => known.find((run) => run.id === id) ?? []);
  const start = mayWrite && (
    <Button
      component={Link}
      to={newEvalRunPath(projectId, { datasetId: selection.dataset_id })}
      leftSection={<IconPlus size={14} />}
    >
      New eval-run
    </Button>
  );
  const isFiltered = Object.values(selection).some((value) => value !== undefined);
  return (
    <ListPage<EvalRun>
      title="Eval-runs"
      context="Outputs over a dataset, of a model or of your own program, scored by graders and judges."
      tools={
        <search className={shared.filters}>
          <DatasetFilter
            projectId={projectId}
            value={selection.dataset_id ?? ""}
            onChange={(value) => set({ dataset: value })}
          />
          <CommittedText
            label="Name"
            placeholder="Exact name"
            value={selection.name ?? ""}
            onChange={(value) => set({ name: value })}
          />
          <CommittedText
            label="Branch"
            placeholder="Exact branch"
            value={selection.branch ?? ""}
            onChange={(value) => set({ branch: value })}
          />
          <StatusSelect
            statuses={STATUSES}
            value={selection.status}
            w={130}
            onChange={(value) => set({ status: value })}
          />
        </search>
      }
      actions={start}
      query={query}
      what="eval-runs"
      rowHeight={40}
      emptyTitle="No eval-runs yet."
      emptyHint={<Empty projectId={projectId} start={start} />}
      onClearFilters={isFiltered ? clear : undefined}
      banner={
        <>
          {selected.length > 0 && (
            <CompareBar
              projectId={projectId}
              selected={selected}
              mayWrite={mayWrite}
              onClear={() => setChosen([])}
            />
          )}
          {selection.dataset_id !== undefined && selection.status === undefined && (
            <div className={shared.trendBanner}>
              <TrendPanel projectId={projectId} datasetId={selection.dataset_id} />
            </div>
          )}
        </>
      }
    >
      {(rows) => <Rows rows={rows} projectId={projectId} now={now} chosen={chosen} onChoose={setChosen} />}
    </ListPage>
  );
}

const PROGRAM = `import looptrace

def answer(question):            # your agent; members of an item's input are its arguments
    return my_agent(question)

def correct(output, reference_output):
    return output == reference_output

result = looptrace.evaluate("my-dataset", answer, graders=[correct], name="support-agent")
print(result)                    # the scores, and the address of the eval-run`;

function Empty({ projectId, start }: { projectId: string; start: React.ReactNode }) {
  return (
    <EmptyHint
      purpose="An eval-run scores the outputs of a model or an agent for each item of a dataset. Run it for each version to see what got better or worse."
      action={start}
      samples="eval-runs"
    >
      <PageHint>Or run your own program with the Python SDK, on your machine or in CI:</PageHint>
      <div className={classes.program}>
        <CodeBlock code={PROGRAM} what="program" />
      </div>
      <PageHint>
        Install it with <code>pip install looptrace</code>, use the name of a{" "}
        <Link to={`/p/${projectId}/datasets`}>dataset</Link>, and set <code>LOOPTRACE_API_KEY</code> to a{" "}
        <Link to={`/p/${projectId}/settings/keys`}>key</Link> with the scopes <code>ingest:write</code>,{" "}
        <code>datasets:read</code>, <code>evals:read</code> and <code>evals:write</code>.
      </PageHint>
    </EmptyHint>
  );
}

interface RowsProps {
  rows: EvalRun[];
  projectId: string;
  now: number;
  chosen: readonly string[];
  onChoose: (chosen: readonly string[]) => void;
}

function Rows({ rows, projectId, now, chosen, onChoose }: RowsProps) {
  return (
    <DataTable
      label="Eval-runs"
      stacks
      rows={rows}
      rowKey={({ id }) => id}
      rowProps={({ id, status }) => ({
        "data-testid": "eval-run-row",
        "data-eval-run": id,
        "data-status": status,
      })}
      columns={[
        {
          header: "Name",
          title: ({ name }) => name,
          cell: ({ id, name }) => (
            <span className={classes.first}>
              <Checkbox
                size="xs"
                aria-label={`Select ${name}`}
                checked={chosen.includes(id)}
                disabled={chosen.length >= MOST_RANKED && !chosen.includes(id)}
                onChange={(event) =>
                  onChoose(event.currentTarget.checked ? [...chosen, id] : chosen.filter((one) => one !== id))
                }
              />
              <RowLink to={`/p/${projectId}/eval-runs/${id}`} name={name} />
            </span>
          ),
        },
        {
          header: "Branch",
          title: ({ branch }) => branch ?? undefined,
          cell: ({ branch }) =>
            branch === null ? (
              NONE
            ) : (
              <span className={shared.clip}>
                <bdi>{branch}</bdi>
              </span>
            ),
        },
        {
          header: "Commit",
          title: ({ commit }) => commit ?? undefined,
          cell: ({ commit }) => (commit === null ? NONE : <code>{shortCommit(commit)}</code>),
        },
        datasetColumn(),
        { header: "Status", cell: (row) => <Status row={row} /> },
        {
          header: "Primary score",
          title: ({ summary }) => summary?.sentence,
          cell: (row) => <Primary row={row} />,
        },
        startedColumn(now),
      ]}
    />
  );
}

function Status({ row }: { row: EvalRun }) {
  if (isFinal(row)) {
    return (
      <>
        <EvaluationStatusMark status={row.status} />
        {row.summary?.partial && <div className={shared.dim}>Results are missing</div>}
      </>
    );
  }
  return <RunningCell evaluation={row} name={row.name} />;
}

function Primary({ row }: { row: EvalRun }) {
  const metric = primaryScore(row);
  if (row.error) return <span className={shared.dim}>{row.error.detail}</span>;
  if (!metric) return <span className={shared.dim}>{row.summary ? "No scores" : NONE}</span>;
  return <Score metric={metric} />;
}
