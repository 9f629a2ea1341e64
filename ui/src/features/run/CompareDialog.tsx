import { Button, Group, Skeleton, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { Link, useNavigate } from "react-router";
import { useRecentRuns } from "@/api/runs";
import type { Run } from "@/api/types";
import { Ago } from "@/components/Ago";
import { Dialog } from "@/components/Dialog";
import { formatDuration } from "@/components/format";
import { QueryState } from "@/components/QueryState";
import { StatusMark, shownStatus } from "@/components/StatusMark";
import { useNow } from "@/components/useNow";
import classes from "./CompareDialog.module.css";

const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/i;

interface Props {
  run: Run;
  onClose: () => void;
}

/** Chooses the run to compare with: a recent run with the same name, or any run by its id. */
export function CompareDialog({ run, onClose }: Props) {
  const recent = useRecentRuns({ project_id: run.project_id, name: run.name, traces: "all", source: "all" });
  const [text, setText] = useState("");
  const navigate = useNavigate();
  const address = (other: string) => `/p/${run.project_id}/diff/${run.run_id}/${other}`;
  // An id, or a run's address that ends with one.
  const typed = UUID.exec(text.replace(/^.*\/runs\//, ""))?.[0].toLowerCase();
  const isSame = typed === run.run_id;
  return (
    <Dialog onClose={onClose} title="Compare with…" size="lg">
      <Stack gap="md">
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (typed && !isSame) navigate(address(typed));
          }}
        >
          <Group gap="xs" align="flex-end">
            <TextInput
              flex={1}
              label="Id or URL of the other run"
              placeholder="00000000-0000-4000-8000-000000000000"
              data-autofocus
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
              error={
                isSame
                  ? "This is the same run"
                  : text.trim() !== "" && !typed
                    ? "Enter a run id or URL"
                    : undefined
              }
            />
            <Button type="submit" size="sm" disabled={!typed || isSame}>
              Compare
            </Button>
          </Group>
        </form>
        <section aria-label="Recent runs with this name">
          <Text fw={600} size="sm" mb={4}>
            Recent runs named {run.name || "unnamed"}
          </Text>
          <QueryState query={recent} skeleton={<Skeleton h={90} />}>
            {({ data }) => (
              <Runs runs={data.filter(({ run_id }) => run_id !== run.run_id)} address={address} />
            )}
          </QueryState>
        </section>
      </Stack>
    </Dialog>
  );
}

function Runs({ runs, address }: { runs: readonly Run[]; address: (runId: string) => string }) {
  const now = useNow(60_000);
  if (runs.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        No other runs have this name.
      </Text>
    );
  }
  return (
    <ul className={classes.list}>
      {runs.map((run) => (
        <li key={run.run_id}>
          <Link to={address(run.run_id)} className={classes.run}>
            <StatusMark status={shownStatus(run)} withLabel />
            <Ago time={run.start_time} now={now} />
            <span>{formatDuration(run.duration_ms)}</span>
            <span>{run.release ?? ""}</span>
            <code>{run.run_id}</code>
          </Link>
        </li>
      ))}
    </ul>
  );
}
