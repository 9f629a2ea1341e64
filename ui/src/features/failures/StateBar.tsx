import { Button, SegmentedControl } from "@mantine/core";
import type { FailureStateCounts, FailureStateFilter } from "@/api/types";
import { formatCount } from "@/components/format";
import { ProblemPanel } from "@/components/ProblemPanel";
import { whatFailed } from "./failures";
import classes from "./State.module.css";
import { countOf, leftOut, STATES } from "./states";
import type { Decisions, Done } from "./useDecisions";

interface Props {
  state: FailureStateFilter;
  counts?: FailureStateCounts;
  onState: (state: FailureStateFilter) => void;
  decisions: Decisions;
}

const PAST = { open: "reopened", resolved: "resolved", muted: "muted" } as const;

function past({ group, decision }: Done): string {
  return group.state.state === "muted" && decision.state === "open" ? "unmuted" : PAST[decision.state];
}

/** Chooses the state of the listed groups, says what the list leaves out, and takes back the last decision. */
export function StateBar({ state, counts, onState, decisions: { done, mutation, noting, undo } }: Props) {
  const hidden = state === "open" && counts ? leftOut(counts) : "";
  return (
    <>
      <div className={classes.states}>
        <SegmentedControl
          size="xs"
          aria-label="State"
          data={STATES.map(({ value, label }) => ({
            value,
            label: counts ? `${label} ${formatCount(countOf(counts, value))}` : label,
          }))}
          value={state}
          onChange={(value) => onState(value as FailureStateFilter)}
        />
        <div className={classes.done} role="status">
          {done ? (
            <>
              <span>
                <bdi>{whatFailed(done.group)}</bdi> {past(done)}.
              </span>
              <Button size="compact-xs" variant="default" loading={mutation.isPending} onClick={undo}>
                Undo
              </Button>
            </>
          ) : (
            hidden !== "" && (
              <>
                <span>{hidden}</span>
                <Button size="compact-xs" variant="default" onClick={() => onState("all")}>
                  Show
                </Button>
              </>
            )
          )}
        </div>
      </div>
      {mutation.error && !noting && (
        <div className={classes.problem}>
          <ProblemPanel error={mutation.error} />
        </div>
      )}
    </>
  );
}
