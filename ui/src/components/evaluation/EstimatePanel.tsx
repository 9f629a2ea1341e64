import { Alert, NumberInput, Skeleton } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import type { EvaluationEstimate } from "@/api/types";
import { Delayed } from "@/components/Delayed";
import { formatCount, formatTokens } from "@/components/format";
import { ProblemPanel } from "@/components/ProblemPanel";
import { Updating } from "@/components/Updating";
import { estimatedCalls, estimatedCost, itemsText } from "./estimate";
import { Sentence } from "./Sentence";
import classes from "./StartForm.module.css";
import type { DebouncedRequest } from "./useDebouncedRequest";

export interface EstimateQuery {
  data: EvaluationEstimate | undefined;
  error: Error | null;
  isPlaceholderData: boolean;
  refetch: () => unknown;
}

interface Props {
  query: EstimateQuery;
  /** Whether there is something to estimate. */
  isReady: boolean;
  debounced: Pick<DebouncedRequest<unknown>, "isCurrent" | "margin" | "setMargin">;
  /** What to do first while there is nothing to estimate. */
  hint: string;
  /** Whether items that can't be rendered are skipped. */
  skips: boolean;
  hasGraders: boolean;
  /** There is one configuration only. */
  isSingle: boolean;
  /** How many fields are still wrong, once someone tried to start it. */
  missing: number;
  startError: Error | null;
}

/** What a comparison will do and may cost, and which items don't fit. */
export function EstimatePanel(props: Props) {
  const { query, isReady, debounced, hint, skips, hasGraders, missing, startError, isSingle } = props;
  const { data, error } = query;
  const isStale = !debounced.isCurrent || query.isPlaceholderData;
  return (
    <div className={classes.estimate} data-testid="estimate" aria-live="polite">
      <h2>Estimate{isReady && isStale && <Updating />}</h2>
      {!isReady ? (
        <p className={classes.note}>
          {missing > 0
            ? `${missing === 1 ? "1 field needs" : `${missing} fields need`} fixing before it can start.`
            : hint}
        </p>
      ) : error ? (
        startError ? null : (
          <ProblemPanel error={error} onRetry={() => void query.refetch()} />
        )
      ) : data ? (
        <div aria-busy={isStale}>
          <Estimate estimate={data} />
          <Incompatible estimate={data} skips={skips} isSingle={isSingle} />
          {data.forecast && (
            <>
              <p className={classes.note} data-testid="forecast">
                <Sentence
                  text={data.forecast.sentence}
                  names={[data.forecast.metric, ...data.forecast.eval_runs.map(({ name }) => name)]}
                />
              </p>
              <NumberInput
                label="Margin to decide, points"
                size="xs"
                placeholder="none"
                min={0.01}
                max={100}
                clampBehavior="none"
                value={debounced.margin}
                onChange={(margin) => debounced.setMargin(String(margin))}
              />
            </>
          )}
        </div>
      ) : (
        <Delayed>
          <Skeleton h={60} />
        </Delayed>
      )}
      {isReady && !hasGraders && (
        <p className={classes.note}>
          {isSingle
            ? "Without a grader or judges there are no scores."
            : "Without a grader or judges there are no scores: only failures, cost, duration and tokens are compared."}
        </p>
      )}
      {startError && <ProblemPanel error={startError} />}
    </div>
  );
}

function Estimate({ estimate }: { estimate: EvaluationEstimate }) {
  const { items, input_tokens: tokens, incompatible_items: incompatible, basis } = estimate;
  const cost = estimatedCost(estimate);
  return (
    <>
      <p className={classes.cost}>{cost.charAt(0).toUpperCase() + cost.slice(1)}</p>
      <p className={classes.note}>
        {estimatedCalls(estimate)} for {itemsText(items - incompatible)}
        {tokens !== null && `, about ${formatTokens(tokens)} input tokens`}.{" "}
        {basis === "tokens"
          ? "Based on the tokens of 5 items: from empty answers to the longest allowed. Retries cost more."
          : "Based on what the first 5 items cost."}
      </p>
    </>
  );
}

/** Who can't render the items: a side, or a judge as "panel/judge". */
function sideText(side: string, isSingle: boolean): string {
  if (side !== "a" && side !== "b") return `${side}: `;
  return isSingle ? "" : `${side.toUpperCase()}: `;
}

interface IncompatibleProps {
  estimate: EvaluationEstimate;
  skips: boolean;
  isSingle: boolean;
}

function Incompatible({ estimate, skips, isSingle }: IncompatibleProps) {
  const { incompatible_items: count, items, missing } = estimate;
  if (count === 0) return null;
  return (
    <Alert
      variant="light"
      color="yellow"
      p="xs"
      c="var(--lt-text)"
      icon={<IconAlertTriangle size={16} />}
      title={`${formatCount(count)} of ${itemsText(items)} can't be rendered`}
      data-testid="incompatible"
    >
      {skips
        ? "They will be skipped."
        : "Map the values, fix the items, or skip them; otherwise it won't start."}
      <ul className={classes.missing}>
        {missing.map(({ side, variable, reason, items: affected, examples }) => (
          <li key={`${side} ${variable} ${reason}`}>
            {sideText(side, isSingle)}
            {variable && <code>{variable}</code>} {reason} in {itemsText(affected)}, such as{" "}
            {examples.slice(0, 3).join(", ")}
          </li>
        ))}
      </ul>
    </Alert>
  );
}
