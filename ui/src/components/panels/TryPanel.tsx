import { Button, Select } from "@mantine/core";
import { IconAlertTriangle, IconCheck, IconHelp } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { fetchEvalRunItems, useEvalRunChoice } from "@/api/evalRuns";
import { useJudgeTest } from "@/api/judges";
import { keys } from "@/api/queryKeys";
import type { Judge, JudgeTestResult } from "@/api/types";
import { MessageList } from "@/components/editor/MessageList";
import { CANARIES } from "@/components/evaluation/canaries";
import { Disclosure } from "@/components/evaluation/Disclosure";
import { VoteCard } from "@/components/evaluation/Votes";
import { formatRuns, formatTime } from "@/components/format";
import { ProblemPanel } from "@/components/ProblemPanel";
import classes from "./Panels.module.css";
import type { PanelContext } from "./panelContext";
import { judgeName, type PanelDraft } from "./panelDraft";
import { readPanels } from "./readPanels";
import { samplesOf, TRY_ITEMS, testCost } from "./samples";

interface Props {
  panel: PanelDraft;
  of: string;
  context: PanelContext;
}

/** Asks one judge about a few items before the whole evaluation is paid. */
export function TryPanel(props: Props) {
  return (
    <Disclosure
      className={`${classes.details} ${classes.try}`}
      summary={props.context.runs ? "Try on the newest runs" : "Try on five items"}
      testId="try-panel"
    >
      <Try {...props} />
    </Disclosure>
  );
}

function Try({ panel, of, context }: Props) {
  const { projectId, datasetId, items, runs: recorded } = context;
  const [judgeId, setJudgeId] = useState(panel.judges[0]?.id ?? "");
  const [runId, setRunId] = useState<string | null>(null);
  const runs = useEvalRunChoice(projectId, datasetId ?? "", datasetId !== undefined);
  const outputs = useQuery({
    queryKey: keys.evalRun.samples(runId ?? ""),
    queryFn: ({ signal }) => fetchEvalRunItems(runId ?? "", { limit: TRY_ITEMS }, signal),
    enabled: runId !== null,
  });
  const test = useJudgeTest();
  // Of the samples that were sent: newer runs may have come.
  const [names, setNames] = useState<readonly string[]>([]);
  const samples = recorded ?? samplesOf(items, runId === null ? null : (outputs.data?.data ?? []));
  const judges = [...panel.judges, ...(panel.escalation ? [panel.escalation] : [])];
  const index = Math.max(
    0,
    judges.findIndex(({ id }) => id === judgeId),
  );
  const judge = readJudgeAt(panel, index);
  const run = () => {
    if (!judge) return;
    setNames(samples.map(({ name }) => name));
    test.mutate({ project_id: projectId, judge, samples: samples.map(({ sample }) => sample) });
  };
  return (
    <>
      <p className={classes.note}>
        {recorded === undefined && datasetId === undefined
          ? "Choose a dataset first: its items are judged."
          : `Its votes on ${recorded ? "the newest runs that match" : "the first items"}, with what it is sent, and its answer to an output that orders it to give the best score. These calls cost money, at most $1. Only their runs are stored.`}
      </p>
      <div className={classes.tryFields}>
        <Select
          size="xs"
          label="Judge"
          aria-label={`Judge of ${of} to try`}
          data={judges.map((one, place) => ({
            value: one.id,
            label: judgeName(one) || `Judge ${place + 1}`,
          }))}
          value={judges[index]?.id ?? null}
          onChange={(value) => setJudgeId(value ?? "")}
          allowDeselect={false}
        />
        {recorded === undefined && (
          <Select
            size="xs"
            w={280}
            label="Outputs"
            aria-label={`Outputs to try ${of} on`}
            data={[
              { value: "", label: "The reference outputs" },
              ...(runs.data?.data ?? []).map(({ id, name, created_at }) => ({
                value: id,
                label: `${name}, ${formatTime(created_at)}`,
              })),
            ]}
            value={runId ?? ""}
            onChange={(value) => setRunId(value || null)}
            allowDeselect={false}
          />
        )}
        <Button
          size="xs"
          variant="default"
          loading={test.isPending || (runId !== null && outputs.isPending)}
          disabled={judge === null || samples.length === 0}
          onClick={run}
        >
          {`Judge ${recorded ? formatRuns(samples.length) : samples.length === 1 ? "1 item" : `${samples.length} items`}`}
        </Button>
      </div>
      {judge === null && <p className={classes.note}>The judge needs a model and a rubric first.</p>}
      {recorded?.length === 0 && (
        <p className={classes.note}>No run of the last seven days matches and can be scored.</p>
      )}
      {datasetId !== undefined && judge !== null && samples.length === 0 && !outputs.isPending && (
        <p className={classes.note}>
          {runId === null
            ? "None of the first items has a reference output. Choose the outputs of an eval-run."
            : "The eval-run has no outputs for its first items."}
        </p>
      )}
      {(test.error ?? outputs.error) && <ProblemPanel error={(test.error ?? outputs.error) as Error} />}
      {test.data && <Results result={test.data} names={names} />}
    </>
  );
}

/** The judge of a request; null if something of it is missing. */
function readJudgeAt(panel: PanelDraft, index: number): Judge | null {
  const wanted = panel.judges[index] ?? panel.escalation;
  if (!wanted) return null;
  const errors = {};
  const alone = { ...panel, name: panel.name || "try", judges: [wanted], escalation: null };
  const [read] = readPanels([alone], [], errors);
  return Object.keys(errors).length === 0 ? (read?.judges[0] ?? null) : null;
}

function Results({ result, names }: { result: JudgeTestResult; names: readonly string[] }) {
  return (
    <div className={classes.results} data-testid="try-results" role="status">
      <p className={classes.note}>{testCost(result)}</p>
      <Canary result={result} />
      {result.votes.map(({ vote, sent }, index) => (
        <div key={names[index] ?? index} className={classes.result}>
          <div className={classes.resultHead}>
            <strong>{names[index] ?? `Item ${index + 1}`}</strong>
          </div>
          <VoteCard vote={vote} isOne />
          <Disclosure className={classes.details} summary="What it was sent">
            <MessageList messages={sent} />
          </Disclosure>
        </div>
      ))}
    </div>
  );
}

function Canary({ result: { canary, canary_result: found } }: { result: JudgeTestResult }) {
  const Shape = found === "held" ? IconCheck : found === "obeyed" ? IconAlertTriangle : IconHelp;
  return (
    <div className={classes.result} data-testid="canary">
      <p className={classes.canary} data-result={found}>
        <Shape size={15} aria-hidden="true" />
        <span>
          <strong>Canary: {CANARIES[found].word}.</strong> {CANARIES[found].text}
        </span>
      </p>
      <Disclosure className={classes.details} summary="What it was sent and answered">
        <MessageList messages={canary.sent} />
        <VoteCard vote={canary.vote} isOne />
      </Disclosure>
    </div>
  );
}
