import { Skeleton } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { Link } from "react-router";
import { writeJson } from "@/api/json";
import type { EvalRulePreview, RunItemPreview } from "@/api/types";
import { Delayed } from "@/components/Delayed";
import classes from "@/components/evaluation/StartForm.module.css";
import { firstWords } from "@/components/format";
import { ProblemPanel } from "@/components/ProblemPanel";
import { Updating } from "@/components/Updating";
import { useProjectId } from "@/components/useProject";
import { dailyCostText, matchedText, noBoundText, overBudgetText, rateText } from "./preview";
import own from "./Rules.module.css";

interface Props {
  query: { data: EvalRulePreview | undefined; error: Error | null; refetch: () => unknown };
  /** There is nothing to preview: the sample is no number. */
  isOff: boolean;
  /** The preview is of an earlier draft. */
  isStale: boolean;
  /** It is of the whole rule, and not only of its filter. */
  isWhole: boolean;
  budget: number | undefined;
}

/** Which runs of the last days a rule would have taken, and what a day would cost. */
export function PreviewPanel({ query, isOff, isStale, isWhole, budget }: Props) {
  const { data, error } = query;
  return (
    <div className={classes.estimate} data-testid="preview" aria-live="polite">
      <h2>Preview{!isOff && isStale && <Updating />}</h2>
      {isOff ? (
        <p className={classes.note}>Enter the sample to see which runs the rule would score.</p>
      ) : error ? (
        <ProblemPanel error={error} onRetry={() => void query.refetch()} />
      ) : data ? (
        <div aria-busy={isStale}>
          <Counts preview={data} isWhole={isWhole} budget={budget} />
          <Examples examples={data.examples} />
        </div>
      ) : (
        <Delayed>
          <Skeleton h={90} />
        </Delayed>
      )}
    </div>
  );
}

interface CountsProps {
  preview: EvalRulePreview;
  isWhole: boolean;
  budget: number | undefined;
}

function Counts({ preview, isWhole, budget }: CountsProps) {
  const rate = rateText(preview);
  const beyond = isWhole ? overBudgetText(preview, budget) : null;
  const noBound = isWhole ? noBoundText(preview) : null;
  return (
    <>
      <p className={classes.cost}>{matchedText(preview)}</p>
      {rate && <p className={classes.cost}>{rate}</p>}
      <p className={isWhole ? classes.cost : classes.note}>
        {isWhole
          ? dailyCostText(preview)
          : "Complete the graders, judges and budget to see what a day costs."}
      </p>
      {beyond && (
        <p className={own.warning} role="note">
          {beyond}
        </p>
      )}
      {noBound && <p className={classes.note}>{noBound}</p>}
      <p className={classes.note}>
        Based on the last 7 days. The rule scores only runs that end after you create it. For earlier runs,
        start an <Link to="../eval-runs/new">eval-run</Link>.
      </p>
    </>
  );
}

function Examples({ examples }: { examples: readonly RunItemPreview[] }) {
  const projectId = useProjectId();
  if (examples.length === 0) return null;
  return (
    <>
      <h3 className={own.examplesTitle}>Newest matches</h3>
      <ul className={own.examples} aria-label="Examples">
        {examples.map((example) => (
          <li key={example.run_id} data-testid="example" data-skipped={example.skipped !== null || undefined}>
            <Link to={`/p/${projectId}/runs/${example.run_id}`} target="_blank">
              <bdi>{example.name || "unnamed"}</bdi>
            </Link>
            {example.skipped === null ? (
              <>
                <bdi className={own.example}>{oneLine(example.input)}</bdi>
                <bdi className={own.example}>→ {oneLine(example.reference_output)}</bdi>
              </>
            ) : (
              <p className={own.skipped}>
                <IconAlertTriangle size={13} aria-hidden="true" />
                <span>
                  Can't be scored: it <bdi>{example.skipped}</bdi>
                </span>
              </p>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

function oneLine(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  return firstWords(typeof value === "string" ? value : writeJson(value), 120);
}
