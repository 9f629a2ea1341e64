import { Alert, Button, Select, Skeleton, Text } from "@mantine/core";
import { IconChevronDown, IconChevronUp } from "@tabler/icons-react";
import { useMemo } from "react";
import { ApiError } from "@/api/problem";
import { fetchReplayFolded, isReplayFinal, useReplayDiff } from "@/api/replays";
import type { Replay, ReplayAttempt, ReplayStepSource, RunDiffStep } from "@/api/types";
import { Delayed } from "@/components/Delayed";
import diffClasses from "@/components/diff/Diff.module.css";
import { PARTIAL, SIGNS, verdict } from "@/components/diff/rows";
import { Steps, useDiffSteps } from "@/components/diff/Steps";
import { Totals } from "@/components/diff/Totals";
import { formatCount } from "@/components/format";
import { PageHint, PageMessage } from "@/components/PageMessage";
import { ProblemPanel } from "@/components/ProblemPanel";
import { useKeys } from "@/components/useKeys";
import classes from "./Evidence.module.css";
import { ROLES, SOURCES, sourceLabel } from "./words";

interface Props {
  replay: Replay;
  /** The chosen attempt; the first with the edits that ended, if it is missing. */
  attempt: number | undefined;
  onAttempt: (attempt: number) => void;
}

/** The attempts that can be compared: their runs are there. */
function comparableAttempts({ attempts }: Pick<Replay, "attempts">): ReplayAttempt[] {
  return attempts.filter(
    ({ run_id, status }) => run_id !== null && status !== "running" && status !== "queued",
  );
}

/** An attempt beside the recorded run, step by step. */
export function DiffTab({ replay, attempt, onAttempt }: Props) {
  const choices = comparableAttempts(replay);
  const shown =
    choices.find(({ number }) => number === attempt) ??
    choices.find(({ role }) => role === "treatment") ??
    choices[0];
  if (!shown)
    return (
      <PageMessage title={isReplayFinal(replay) ? "No attempt was made." : "No attempt has ended yet."}>
        <PageHint>
          {isReplayFinal(replay)
            ? "The result says why. An attempt that ends is compared with the recorded run here."
            : "When the first one ends, compare it with the recorded run here."}
        </PageHint>
      </PageMessage>
    );
  return <Diff key={shown.number} replay={replay} attempt={shown} choices={choices} onAttempt={onAttempt} />;
}

interface DiffProps {
  replay: Replay;
  attempt: ReplayAttempt;
  choices: readonly ReplayAttempt[];
  onAttempt: (attempt: number) => void;
}

function Diff({ replay, attempt, choices, onAttempt }: DiffProps) {
  const query = useReplayDiff(replay.id, attempt.number);
  const pages = useMemo(() => query.data?.pages.map(({ diff }) => diff), [query.data]);
  const sources = useMemo(
    () =>
      new Map(
        query.data?.pages.flatMap((page) => page.sources.map((source) => [source.n, source] as const)) ?? [],
      ),
    [query.data],
  );
  const steps = useDiffSteps(pages, query, (offset, limit) =>
    fetchReplayFolded(replay.id, attempt.number, offset, limit),
  );
  useKeys({ n: () => steps.jump(1), p: () => steps.jump(-1) });
  const answer = query.data?.pages[0];
  const first = answer?.diff;
  const differences = first
    ? first.counts.changed + first.counts.added + first.counts.removed + first.counts.moved
    : 0;
  return (
    <div className={`${diffClasses.page} ${classes.diff}`}>
      <div className={classes.toolbar}>
        <Select
          size="xs"
          w={230}
          aria-label="Attempt"
          data={choices.map(({ number, role, index }) => ({
            value: String(number),
            label: `Attempt ${number}: ${ROLES[role].toLowerCase()} ${index}`,
          }))}
          value={String(attempt.number)}
          onChange={(value) => value && onAttempt(Number(value))}
          allowDeselect={false}
        />
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconChevronUp size={14} />}
          disabled={differences === 0}
          onClick={() => steps.jump(-1)}
        >
          Previous
        </Button>
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconChevronDown size={14} />}
          disabled={differences === 0}
          onClick={() => steps.jump(1)}
        >
          Next difference
        </Button>
        <Text size="xs" c="dimmed">
          One difference proves nothing. See the verdict.
        </Text>
      </div>
      {query.isError && !answer ? (
        <PageMessage>
          <ProblemPanel
            error={query.error}
            onRetry={isGone(query.error) ? undefined : () => query.refetch()}
          />
        </PageMessage>
      ) : !answer || !first ? (
        <Delayed>
          <Skeleton m="md" h={240} w="auto" />
        </Delayed>
      ) : (
        <>
          <div className={classes.toolbar} data-testid="diff-head">
            <b>{verdict(first, differences)}</b>
            <ul className={diffClasses.counts} aria-label="Steps by state">
              {(["same", "changed", "added", "removed", "moved"] as const).map((state) => (
                <li key={state} data-none={first.counts[state] === 0 || undefined}>
                  <span className={diffClasses.sign}>{SIGNS[state]}</span> {formatCount(first.counts[state])}{" "}
                  {state}
                </li>
              ))}
            </ul>
          </div>
          {(attempt.detail || first.partial || answer.outside_cone_differences > 0 || steps.failure) && (
            <div className={classes.toolbar}>
              {attempt.detail && (
                <Text size="sm">
                  The attempt ended early. {attempt.detail} {attempt.remedy}
                </Text>
              )}
              {answer.outside_cone_differences > 0 && (
                <Alert variant="light" color="yellow" p="xs" c="var(--lt-text)" data-testid="unexplained">
                  {answer.outside_cone_differences === 1
                    ? "1 step differs although the edit can't have changed it."
                    : `${formatCount(answer.outside_cone_differences)} steps differ although the edit can't have changed them.`}{" "}
                  That's a problem with the replay, not an effect.
                </Alert>
              )}
              {first.partial && (
                <Text size="sm">
                  The comparison is incomplete. {first.partial_because.map((why) => PARTIAL[why]).join(" ")}
                </Text>
              )}
              {steps.failure && <ProblemPanel error={steps.failure} />}
            </div>
          )}
          <Totals totals={first.totals} />
          <Steps
            projectId={replay.project_id}
            runIds={[replay.run_id, attempt.run_id ?? ""]}
            steps={steps}
            firstN={first.first_divergence?.n}
            query={query}
            note={(step) => (
              <Source
                step={step}
                source={sources.get(step.n)}
                isAttributed={
                  answer.first_attributable_span_id !== null &&
                  step.base?.span_id === answer.first_attributable_span_id
                }
              />
            )}
          />
        </>
      )}
    </div>
  );
}

/** Whether there is nothing to compare any more. */
function isGone(error: Error): boolean {
  return error instanceof ApiError && error.problem?.code === "run_deleted";
}

interface SourceProps {
  step: RunDiffStep;
  source: ReplayStepSource | undefined;
  isAttributed: boolean;
}

/** Where a step of the attempt came from, and whether the edit can have changed it. */
function Source({ step, source, isAttributed }: SourceProps) {
  const kind = step.other?.kind ?? step.base?.kind;
  // An agent is made of its calls: only these come from somewhere.
  const isCall = kind === "llm" || kind === "tool";
  if (!isAttributed && (!source || !isCall)) return null;
  const name = source ? (source.tier ?? source.source) : "";
  return (
    <div className={classes.source} data-testid="step-source" data-source={source?.source}>
      {isAttributed && (
        <span className={classes.attributed} data-testid="first-attributable">
          First step that the verdict attributes to the edit
        </span>
      )}
      {source && isCall && (
        <>
          <span title={SOURCES[name]?.hint}>
            <b>{sourceLabel(name)}</b>
          </span>
          <span>{source.in_cone ? "can depend on the edit" : "can't depend on the edit"}</span>
          {source.outside_cone && step.state !== "same" && <span>differs anyway</span>}
        </>
      )}
    </div>
  );
}
