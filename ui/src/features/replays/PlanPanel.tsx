import { Alert, Button, Skeleton } from "@mantine/core";
import {
  IconAlertTriangle,
  IconBolt,
  IconCopy,
  IconDatabase,
  IconHelp,
  IconPencil,
} from "@tabler/icons-react";
import { useState } from "react";
import type { ReplayAction, ReplayPlan, ReplayPlanStep } from "@/api/types";
import { Delayed } from "@/components/Delayed";
import { formatCount } from "@/components/format";
import { KindIcon } from "@/components/KindIcon";
import { ProblemPanel } from "@/components/ProblemPanel";
import { Updating } from "@/components/Updating";
import { Missing } from "./Missing";
import { ACTIONS, PAGE, planCalls, planCost, stepsBefore, whyText } from "./plan";
import classes from "./Replays.module.css";

interface Props {
  query: { data: ReplayPlan | undefined; error: Error | null; refetch: () => unknown };
  /** Whether there is something to plan. */
  isReady: boolean;
  /** The plan is of an earlier draft. */
  isStale: boolean;
  /** Whether an error of the plan is at its fields. */
  hideError: boolean;
}

const ORDER: readonly ReplayAction[] = ["copied", "served", "live", "unknown"];

/** What a replay would do, step by step, and what it may cost. */
export function PlanPanel({ query, isReady, isStale, hideError }: Props) {
  const { data, error, refetch } = query;
  return (
    <section className={classes.plan} aria-label="Plan" data-testid="plan">
      <h2>What will happen{isReady && isStale && <Updating />}</h2>
      {!isReady ? (
        <p className={classes.note}>Add an edit to see which steps are copied and what the replay costs.</p>
      ) : error ? (
        hideError ? (
          <p className={classes.note}>Fix the marked fields to see the plan.</p>
        ) : (
          <ProblemPanel error={error} onRetry={() => void refetch()} />
        )
      ) : data ? (
        <div aria-busy={isStale || undefined} className={classes.planBody}>
          <Plan plan={data} />
        </div>
      ) : (
        <Delayed>
          <Skeleton h={120} />
        </Delayed>
      )}
    </section>
  );
}

function Plan({ plan }: { plan: ReplayPlan }) {
  const [isShort, setShort] = useState(true);
  const [most, setMost] = useState(PAGE);
  const { steps, counts, decided, warnings, missing, replayability } = plan;
  const cost = planCost(plan);
  const from = isShort ? stepsBefore(steps) : 0;
  const shown = steps.slice(from, from + most);
  const left = steps.length - from - shown.length;
  return (
    <>
      <p className={classes.cost} aria-live="polite">
        {plan.calls === 0 ? "Free" : cost.charAt(0).toUpperCase() + cost.slice(1)}
      </p>
      <p className={classes.note}>{planCalls(plan)}</p>
      {decided !== null && (
        <div className={classes.decided} data-testid="decided">
          <b>Nothing needs to run.</b> {decided}
        </div>
      )}
      <ul className={classes.counts} aria-label="Steps by what happens to them">
        {ORDER.map((action) => (
          <li key={action} data-none={counts[action] === 0 || undefined} title={ACTIONS[action].hint}>
            <ActionMark action={action} /> {formatCount(counts[action])}
          </li>
        ))}
      </ul>
      {replayability.level === "full" && missing.length > 0 && (
        <Alert
          variant="outline"
          color="yellow"
          p="xs"
          c="var(--lt-text)"
          icon={<IconAlertTriangle size={16} />}
          title="The recording lacks something"
        >
          <Missing missing={missing} />
        </Alert>
      )}
      {warnings.length > 0 && (
        <ul className={classes.warnings} data-testid="warnings">
          {warnings.map(({ code, detail, remedy }) => (
            <li key={code} data-code={code}>
              {detail} <span className={classes.remedy}>{remedy}</span>
            </li>
          ))}
        </ul>
      )}
      {from > 0 && (
        <Button size="compact-sm" variant="default" onClick={() => setShort(false)}>
          Show the {formatCount(from)} steps before
        </Button>
      )}
      <ol className={classes.planSteps} aria-label="Steps of an attempt with the edits">
        {shown.map((step) => (
          <PlanStep key={step.span_id} step={step} />
        ))}
      </ol>
      {left > 0 && (
        <Button size="compact-sm" variant="default" onClick={() => setMost(most + PAGE)}>
          Show {formatCount(Math.min(PAGE, left))} more of {formatCount(left)} steps
        </Button>
      )}
    </>
  );
}

const MAX_DEPTH = 6;

function PlanStep({ step }: { step: ReplayPlanStep }) {
  const why = whyText(step);
  return (
    <li
      className={classes.planStep}
      style={{ paddingLeft: Math.min(step.depth, MAX_DEPTH) * 10 }}
      data-testid="plan-step"
      data-action={step.action}
      data-edited={step.edited || undefined}
    >
      <span className={classes.planName}>
        <span className={classes.number}>{step.n}</span>
        <KindIcon kind={step.kind} size={14} />
        <bdi title={step.name}>{step.name || "unnamed"}</bdi>
        {step.edited && (
          <span className={classes.tag}>
            <IconPencil size={11} aria-hidden="true" /> edited
          </span>
        )}
        <ActionMark action={step.action} />
      </span>
      {why !== "" && <span className={classes.why}>{why}</span>}
    </li>
  );
}

const icons = { copied: IconCopy, served: IconDatabase, live: IconBolt, unknown: IconHelp };

/** What happens to a step, by shape and word. */
function ActionMark({ action }: { action: ReplayAction }) {
  const Shape = icons[action];
  return (
    <span className={classes.action} data-action={action} title={ACTIONS[action].hint}>
      <Shape size={13} stroke={1.8} aria-hidden="true" />
      {ACTIONS[action].label}
    </span>
  );
}
