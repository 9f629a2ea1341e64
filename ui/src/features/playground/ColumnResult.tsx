import { Alert, Button, Group } from "@mantine/core";
import { IconInfoCircle } from "@tabler/icons-react";
import { useState } from "react";
import { Link } from "react-router";
import { ApiError } from "@/api/problem";
import { CopyButton } from "@/components/CopyButton";
import { Fact, FactList } from "@/components/Fact";
import { formatCost, formatDuration, formatTokens, UNKNOWN } from "@/components/format";
import { ProblemPanel } from "@/components/ProblemPanel";
import { allows, useProject } from "@/components/useProject";
import { type Answer, lastText } from "./answer";
import type { Fix } from "./fixes";
import classes from "./Playground.module.css";

interface Props {
  projectId: string;
  answer: Answer;
  /** What one click can do about the answer's error. */
  fixes: readonly Fix[];
  onFix: (fix: Fix) => void;
  onRetry?: () => void;
}

/** How an answer ended: its error with what to do, or its cost, tokens and times. */
export function ColumnResult({ projectId, answer, fixes, onFix, onRetry }: Props) {
  const { status, completion, error, runId } = answer;
  const text = lastText(answer);
  return (
    <div className={classes.result}>
      <div role="status" className={classes.state}>
        {status === "stopped" && "Stopped. What arrived is kept."}
        {completion?.stop_reason === "max_rounds" && `Stopped after ${completion.rounds} rounds.`}
        {completion?.stop_reason === "max_cost" && "Stopped: the next round could cost more than the limit."}
        {completion?.stop_reason === "tool_calls" && "The model waits for results."}
        {completion?.finish_reason === "length" && "Cut off at the maximum of output tokens."}
      </div>
      {error && <Failure error={error} fixes={fixes} onFix={onFix} onRetry={onRetry} projectId={projectId} />}
      {completion && completion.warnings.length > 0 && (
        <Alert variant="light" color="yellow" p="xs" c="var(--lt-text)" icon={<IconInfoCircle size={16} />}>
          {completion.warnings.map((warning) => (
            <div key={warning}>{warning}</div>
          ))}
        </Alert>
      )}
      {completion && (
        <div data-testid="facts">
          <FactList inline>
            <Fact label="Cost" value={formatCost(completion.cost_usd)} />
            <Fact
              label="Tokens"
              value={`${formatTokens(completion.usage.input_tokens)} in, ${formatTokens(completion.usage.output_tokens)} out`}
              title={usageDetails(completion.usage)}
            />
            <Fact label="Duration" value={formatDuration(completion.duration_ms)} />
            <Fact label="First token" value={formatDuration(completion.time_to_first_token_ms)} />
            <Fact label="Finish" value={completion.finish_reason ?? UNKNOWN} />
            <Fact label="Model" value={completion.model ?? UNKNOWN} />
            {completion.rounds > 1 && <Fact label="Rounds" value={String(completion.rounds)} />}
            {completion.attempts > completion.rounds && (
              <Fact label="Requests" value={String(completion.attempts)} title="Including retries." />
            )}
            {completion.output_strategy && completion.output_strategy !== "native" && (
              <Fact label="Schema by" value={completion.output_strategy.replace("_", " ")} />
            )}
          </FactList>
        </div>
      )}
      {(runId !== null || text !== "") && (
        <Group gap="xs">
          {runId !== null && <Link to={`/p/${projectId}/runs/${runId}`}>Recorded run</Link>}
          {text !== "" && status !== "running" && <CopyButton value={text} what="answer" />}
        </Group>
      )}
    </div>
  );
}

function usageDetails(usage: NonNullable<Answer["completion"]>["usage"]): string | undefined {
  const parts = [
    ["read from the cache", usage.cache_read_input_tokens],
    ["written to the cache", usage.cache_write_input_tokens],
    ["of reasoning", usage.reasoning_output_tokens],
  ] as const;
  const known = parts.filter(([, count]) => count !== null && count > 0);
  return known.map(([label, count]) => `${formatTokens(count)} ${label}`).join(", ") || undefined;
}

interface FailureProps extends Pick<Props, "projectId" | "fixes" | "onFix" | "onRetry"> {
  error: Error;
}

/** Errors whose cause is in the settings of a connection. */
const AT_CONNECTION = [
  "provider_key_refused",
  "provider_key_unreadable",
  "provider_permission_denied",
  "provider_unreachable",
  "provider_quota_exceeded",
  "budget_exceeded",
  "address_not_allowed",
];

function Failure({ projectId, error, fixes, onFix, onRetry }: FailureProps) {
  const isAdmin = allows(useProject(), "admin");
  const [done, setDone] = useState("");
  const { code = "", detail = "" } = (error instanceof ApiError && error.problem) || {};
  // The limit of the request has this code, too.
  const isAtConnection = AT_CONNECTION.includes(code) && !detail.includes("max_cost_usd");
  return (
    <>
      <ProblemPanel error={error} onRetry={onRetry} />
      <Group gap="xs">
        {fixes.map((fix) => (
          <Button
            key={fix.label}
            size="compact-sm"
            variant="light"
            onClick={() => {
              onFix(fix);
              setDone(fix.done);
            }}
          >
            {fix.label}
          </Button>
        ))}
        <span role="status" className={classes.state}>
          {done}
        </span>
        {code === "price_unknown" && isAdmin && (
          <Link to={`/p/${projectId}/settings/prices`}>Set a price</Link>
        )}
        {isAtConnection &&
          (isAdmin ? (
            <Link to={`/p/${projectId}/settings/providers`}>Open the connection</Link>
          ) : (
            <span className={classes.note}>Only admins can change the connection.</span>
          ))}
      </Group>
    </>
  );
}
