import type { ReplayBatchPart, ReplayBatchPartResult, ReplayBatchResult } from "@/api/types";
import { DataTable } from "@/components/DataTable";
import { Disclosure } from "@/components/evaluation/Disclosure";
import shared from "@/components/evaluation/Evaluation.module.css";
import { ReplayVerdictMark } from "@/components/ReplayVerdictMark";
import { verdictWords } from "@/components/replayVerdicts";
import { BatchVerdictMark } from "./BatchMarks";
import { differenceText, endsText, intervalText, kindOf, PARTS } from "./batches";
import { Channels } from "./Channels";
import classes from "./Evidence.module.css";
import { isMeasured } from "./evidence";

interface Part {
  name: ReplayBatchPart;
  result: ReplayBatchPartResult;
}

function partsOf({ chosen, good }: ReplayBatchResult): Part[] {
  return [{ name: "chosen", result: chosen }, ...(good ? [{ name: "good" as const, result: good }] : [])];
}

/** What a batch found: a sentence, and how many attempts end well with and without the edit. */
export function BatchParts({ result }: { result: ReplayBatchResult }) {
  return (
    <>
      <section
        className={classes.verdict}
        aria-label="Result"
        data-kind={kindOf(result)}
        data-testid="batch-sentence"
      >
        <p className={classes.sentence}>{result.sentence}</p>
      </section>
      <section aria-label="Attempts that end well" className={shared.metrics} data-testid="batch-parts">
        <h2 className={shared.heading}>Attempts that end well</h2>
        <DataTable<Part>
          label="Edited and unedited attempts"
          stacks
          rows={partsOf(result)}
          rowKey={({ name }) => name}
          rowProps={({ name }) => ({ "data-testid": "batch-part", "data-part": name })}
          columns={[
            {
              header: "Runs",
              cell: ({ name }) => (
                <>
                  {PARTS[name].label}
                  <span className={shared.hint}>{PARTS[name].hint}</span>
                </>
              ),
            },
            { header: "Edited", number: true, cell: (part) => endsText(part.result.edited) },
            { header: "Unedited", number: true, cell: (part) => endsText(part.result.unedited) },
            {
              header: "Difference",
              number: true,
              cell: (part) => (
                <>
                  {differenceText(part.result)}
                  {part.result.difference !== null && (
                    <span className={shared.interval}>{intervalText(part.result)}</span>
                  )}
                </>
              ),
            },
            { header: "Verdict", cell: (part) => <BatchVerdictMark verdict={part.result.verdict} /> },
          ]}
        />
        <p className={shared.note}>
          Chosen runs failed, so some end well by themselves the next time. The difference is the mean over
          runs.
        </p>
      </section>
    </>
  );
}

/** All measures of both parts, with their tests. */
export function BatchStatistics({ result }: { result: ReplayBatchResult }) {
  return (
    <Disclosure summary="Statistics" className={classes.details} testId="batch-statistics">
      {partsOf(result).map(({ name, result: { effect } }) => (
        <section
          key={name}
          className={`${shared.block} ${classes.statistics}`}
          aria-label={`Statistics of ${PARTS[name].label}`}
        >
          <h2 className={shared.heading}>{PARTS[name].label}</h2>
          <ReplayVerdictMark verdict={effect.verdict} />
          <p className={classes.meaning}>
            {verdictWords(effect.verdict).meaning} Attempts are compared within a run. Based on {effect.k}{" "}
            attempts without the edits and {effect.m} with them.
          </p>
          {effect.reasons.length > 0 && (
            <ul className={classes.reasons} aria-label="Reasons">
              {effect.reasons.map(({ code, text }) => (
                <li key={code + text}>{text}</li>
              ))}
            </ul>
          )}
          {isMeasured(effect) && <Channels verdict={effect} of={LOWER[name]} />}
        </section>
      ))}
    </Disclosure>
  );
}

const LOWER = { chosen: "chosen runs", good: "good runs" };
