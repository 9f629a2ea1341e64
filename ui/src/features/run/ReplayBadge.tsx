import { Popover, Skeleton, Stack, Text, UnstyledButton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlayerTrackNext } from "@tabler/icons-react";
import { useReplayability } from "@/api/replays";
import type { Replayability, Run, RunReplayability } from "@/api/types";
import { formatCountOf } from "@/components/format";
import { QueryState } from "@/components/QueryState";
import { REPLAYABILITY } from "@/components/replayability";
import classes from "./RunHeader.module.css";

/** How far a run can be replayed. A click shows what that means, what is missing, and how to record it. */
export function ReplayBadge({ run }: { run: Run }) {
  const [opened, { close, toggle }] = useDisclosure(false);
  const query = useReplayability(run.project_id, run.run_id, opened);
  const badge = run.replayability === null ? "Replayability unknown" : levelOf(run.replayability).badge;
  return (
    <Popover
      opened={opened}
      onChange={(next) => !next && close()}
      width="min(420px, calc(100vw - 32px))"
      position="bottom-start"
      shadow="md"
      trapFocus
      returnFocus
    >
      <Popover.Target>
        <UnstyledButton className={classes.replay} onClick={toggle} data-testid="run-replayability">
          <IconPlayerTrackNext size={12} aria-hidden="true" />
          {badge}
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown className={classes.missing} aria-label="Replayability" tabIndex={0}>
        <QueryState query={query} skeleton={<Skeleton h={80} />}>
          {(found) => <Details found={found} listed={run.replayability} />}
        </QueryState>
      </Popover.Dropdown>
    </Popover>
  );
}

function levelOf(level: Replayability) {
  // biome-ignore lint/style/noNonNullAssertion: the list has all levels
  return REPLAYABILITY.find(({ value }) => value === level)!;
}

function Details({ found, listed }: { found: RunReplayability; listed: Replayability | null }) {
  const { badge, meaning } = levelOf(found.level);
  return (
    <Stack gap="xs">
      <Text size="sm" fw={600}>
        {badge}
      </Text>
      <Text size="xs">{meaning}</Text>
      <Text size="xs" c="dimmed">
        {counted(found.model_calls, "model call")}, {counted(found.tool_calls, "tool call")}
        {found.opaque_steps > 0 &&
          `, ${counted(found.opaque_steps, "request")} that can't be rebuilt from what came before`}
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
                {steps > 0 && ` (${counted(steps, "step")})`}
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

function counted(count: number, noun: string): string {
  return formatCountOf(count, noun);
}
