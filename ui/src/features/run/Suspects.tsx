import { Stack, Text, UnstyledButton } from "@mantine/core";
import { IconHelp } from "@tabler/icons-react";
import { useAgentView } from "@/api/runs";
import type { AgentView, Run, Suspect } from "@/api/types";
import { Fact } from "@/components/Fact";
import { HelpPopover } from "./HelpPopover";
import classes from "./RunHeader.module.css";

interface Props {
  run: Run;
  failure: NonNullable<Run["failure"]>;
  onOpen: (spanId: string) => void;
}

/** Enough for the view's head, its error chain and the suspects. */
const BUDGET = 2000;

const WHY: Record<Suspect["why"], string> = {
  writes: "Its model calls a tool that changes something.",
  new: "It is the first of its name that begins so.",
  long: "It says much for its kind.",
};

/** Where a failed run shows its error, and the steps that may be why. */
export function Suspects({ run, failure, onOpen }: Props) {
  const view = useAgentView(run.project_id, run.run_id, { budget: BUDGET, format: "json" });
  const suspects = view.data === undefined ? [] : ((JSON.parse(view.data) as AgentView).suspects ?? []);
  return (
    <>
      {failure.class !== "scored" && (
        <Fact
          label="Step with the error"
          testId="run-error-step"
          value={
            <UnstyledButton className={classes.step} onClick={() => onOpen(failure.span_id)}>
              <bdi>{failure.step.name || "unnamed"}</bdi>
            </UnstyledButton>
          }
        />
      )}
      {suspects.length > 0 && (
        <Fact
          label="Suspects"
          testId="run-suspects"
          value={
            <span className={classes.replays}>
              {suspects.map(({ n, span_id, name, why }) => (
                <UnstyledButton
                  key={span_id}
                  className={classes.step}
                  title={WHY[why]}
                  onClick={() => onOpen(span_id)}
                >
                  step {n} <bdi>{name}</bdi>
                </UnstyledButton>
              ))}
              <Help />
            </span>
          }
        />
      )}
    </>
  );
}

function Help() {
  return (
    <HelpPopover
      label="Suspects"
      width={380}
      className={classes.step}
      aria-label="How often suspects are right"
      button={<IconHelp size={14} aria-hidden="true" />}
    >
      <Stack gap="xs">
        <Text size="xs">
          Steps in which the model acted, the likeliest first to be why the run failed: those that call a tool
          that changes something, then those that say much for their kind.
        </Text>
        <Text size="xs">
          In 145 annotated failed runs the first suspect was the faulty step in 20%, and one of three in 57%
          (random steps: 11% and 33%). The step with the error shows where a run failed, not why.
        </Text>
      </Stack>
    </HelpPopover>
  );
}
