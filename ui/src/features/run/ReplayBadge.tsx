import { Skeleton, Stack, Text } from "@mantine/core";
import { IconPlayerTrackNext } from "@tabler/icons-react";
import { useReplayability } from "@/api/replays";
import type { Run, RunReplayability } from "@/api/types";
import { formatCountOf } from "@/components/format";
import { QueryState } from "@/components/QueryState";
import { REPLAYABILITY } from "@/components/replayability";
import { HelpPopover } from "./HelpPopover";
import classes from "./RunHeader.module.css";

/** How far a run can be replayed. A click shows what that means, what is missing, and how to record it. */
export function ReplayBadge({ run }: { run: Run }) {
  const badge = run.replayability === null ? "Replayability unknown" : levelOf(run.replayability).badge;
  return (
    <HelpPopover
      label="Replayability"
      width={420}
      className={classes.replay}
      dropdownClassName={classes.missing}
      data-testid="run-replayability"
      button={
        <>
          <IconPlayerTrackNext size={12} aria-hidden="true" />
          {badge}
        </>
      }
    >
      <Replayability run={run} />
    </HelpPopover>
  );
}

/** Read once it is opened. */
function Replayability({ run }: { run: Run }) {
  const query = useReplayability(run.project_id, run.run_id);
  return (
    <QueryState query={query} skeleton={<Skeleton h={80} />}>
      {(found) => <Details found={found} listed={run.replayability} />}
    </QueryState>
  );
}

function levelOf(level: RunReplayability["level"]) {
  // biome-ignore lint/style/noNonNullAssertion: the list has all levels
  return REPLAYABILITY.find(({ value }) => value === level)!;
}

function Details({ found, listed }: { found: RunReplayability; listed: Run["replayability"] }) {
  const { badge, meaning } = levelOf(found.level);
  return (
    <Stack gap="xs">
      <Text size="sm" fw={600}>
        {badge}
      </Text>
      <Text size="xs">{meaning}</Text>
      <Text size="xs" c="dimmed">
        {formatCountOf(found.model_calls, "model call")}, {formatCountOf(found.tool_calls, "tool call")}
        {found.opaque_steps > 0 &&
          `, ${formatCountOf(found.opaque_steps, "request")} that can't be rebuilt from what came before`}
      </Text>
      {listed !== null && listed !== found.level && (
        <Text size="xs" c="dimmed">
          Lists and filters say “{levelOf(listed).badge}”, because they don't read the recorded texts.
        </Text>
      )}
      {found.missing.length > 0 && (
        <ul className={classes.missingList} aria-label="Missing">
          {found.missing.map(({ code, detail, remedy, steps }) => (
            <li key={code}>
              <Text size="xs">
                {detail}
                {steps > 0 && ` (${formatCountOf(steps, "step")})`}
              </Text>
              <Text size="xs" c="dimmed">
                {remedy}
              </Text>
            </li>
          ))}
        </ul>
      )}
    </Stack>
  );
}
