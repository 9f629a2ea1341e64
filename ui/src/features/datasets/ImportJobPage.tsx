import { Alert, Button, Group, Progress, Skeleton, Stack, Text } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Link, useNavigate, useParams } from "react-router";
import {
  downloadImportErrors,
  isFinished,
  isGone,
  useCancelImport,
  useImport,
  useImportErrors,
} from "@/api/imports";
import { keys } from "@/api/queryKeys";
import type { Import } from "@/api/types";
import { Ago } from "@/components/Ago";
import { authorName } from "@/components/author";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { DataTable } from "@/components/DataTable";
import { Disclosure } from "@/components/evaluation/Disclosure";
import { Fact, FactList, TimeFact } from "@/components/Fact";
import { formatBytes, formatCount, formatCountOf, formatDuration, NONE } from "@/components/format";
import { LoadMore } from "@/components/LoadMore";
import { Page } from "@/components/Page";
import { PageHint, PageMessage } from "@/components/PageMessage";
import { PageState } from "@/components/PageState";
import { ProblemPanel } from "@/components/ProblemPanel";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { useKeys } from "@/components/useKeys";
import { useNow } from "@/components/useNow";
import { allows, useProject, useProjectId } from "@/components/useProject";
import classes from "./ImportPage.module.css";
import { ImportStatusMark } from "./ImportStatusMark";
import { roleLabels, shapeLabels, targetText } from "./mapping";
import {
  failureText,
  formatRows,
  modeLabels,
  progressText,
  readShare,
  resultText,
  timeLeft,
} from "./progress";

/** One import: how far it is, and what it did. */
export function ImportJobPage() {
  const projectId = useProjectId();
  const { importId = "" } = useParams();
  const query = useImport(importId);
  if (isGone(query.error)) {
    return (
      <Page title="Import">
        <PageMessage title="This import doesn't exist.">
          <PageHint>If it was still uploading, the upload was interrupted. Import the file again.</PageHint>
        </PageMessage>
      </Page>
    );
  }
  return (
    <PageState
      query={query}
      skeleton={<SkeletonRows count={5} height={40} />}
      title="Import"
      above={{ label: "Back to the datasets", to: `/p/${projectId}/datasets` }}
    >
      {(state) => <View key={state.id} state={state} />}
    </PageState>
  );
}

function View({ state }: { state: Import }) {
  const projectId = useProjectId();
  const mayWrite = allows(useProject(), "datasets:write");
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const [isCancelling, setCancelling] = useState(false);
  const now = useNow(1_000);
  const dataset = `/p/${projectId}/datasets/${state.dataset_id}`;
  const back = () => navigate(`${dataset}?tab=imports`);
  useKeys({ Escape: back });
  const hasEnded = isFinished(state);
  useEffect(() => {
    if (!hasEnded) return;
    for (const queryKey of [
      keys.datasets.all(projectId),
      keys.dataset.all(state.dataset_id),
      keys.import.errors(state.id),
    ])
      void queryClient.invalidateQueries({ queryKey });
  }, [hasEnded, queryClient, projectId, state.dataset_id, state.id]);
  return (
    <Page
      title={state.file_name ?? "Import of an unnamed file"}
      back={{ label: "Back to the imports", onClick: back }}
      badges={<ImportStatusMark status={state.status} />}
      context={
        <>
          Started <Ago time={state.created_at} now={now} /> by {authorName(state.created_by)}
          {state.note !== "" && ` · ${state.note}`}
        </>
      }
      actions={
        !hasEnded &&
        mayWrite && (
          <Button variant="default" onClick={() => setCancelling(true)}>
            Cancel import…
          </Button>
        )
      }
    >
      <Stack gap="lg">
        {hasEnded ? (
          <Result state={state} dataset={dataset} mayWrite={mayWrite} />
        ) : (
          <Running state={state} now={now} />
        )}
        <Facts state={state} />
        {state.rejected > 0 && <Errors state={state} />}
      </Stack>
      {isCancelling && <CancelDialog state={state} onClose={() => setCancelling(false)} />}
    </Page>
  );
}

function Running({ state, now }: { state: Import; now: number }) {
  const share = readShare(state);
  const left = timeLeft(state, now);
  return (
    <section aria-label="Progress" data-testid="import-progress">
      <Group justify="space-between" gap="xs" mb={6}>
        <Text size="sm">{progressText(state)}</Text>
        {left !== null && (
          <Text size="sm" c="dimmed">
            About {formatDuration(Math.max(1000, Math.round(left / 1000) * 1000))} left
          </Text>
        )}
      </Group>
      <Progress
        value={share === null ? 100 : 100 * share}
        animated={share === null || state.phase === "writing"}
        aria-label="Import"
      />
      <Text size="xs" c="dimmed" mt={6}>
        You can leave this page; the import keeps running.
      </Text>
    </section>
  );
}

/** What to do about a failure. */
const remedies: Record<string, string> = {
  rows_rejected:
    "Nothing was imported. Correct the rows below, or import the file again and choose to skip them.",
  stale_base_revision:
    "Someone changed the dataset after you chose the file. Nothing was imported. Look at what changed, and import the file again.",
  too_many_removed:
    "Nothing was changed. To remove all these items, import the file again with a higher limit.",
};

interface ResultProps {
  state: Import;
  dataset: string;
  mayWrite: boolean;
}

function Result({ state, dataset, mayWrite }: ResultProps) {
  const again = mayWrite && (
    <Button variant="default" component={Link} to={`${dataset}/import`}>
      Import a file again
    </Button>
  );
  if (state.status === "failed") {
    return (
      <Alert
        role="alert"
        variant="outline"
        color="red"
        title={failureText(state)}
        data-testid="import-result"
      >
        <Stack gap="xs" align="flex-start">
          <Text size="sm">
            {remedies[state.error?.code ?? ""] ?? "Nothing was imported. The dataset is unchanged."}
          </Text>
          {again}
        </Stack>
      </Alert>
    );
  }
  if (state.status === "cancelled") {
    return (
      <Stack gap="xs" align="flex-start" data-testid="import-result">
        <Text size="sm">The import was cancelled. It changed nothing.</Text>
        {again}
      </Stack>
    );
  }
  const { revision } = state;
  return (
    <Stack gap="xs" align="flex-start" data-testid="import-result">
      <Text size="lg" fw={600} role="status">
        {resultText(state)}
      </Text>
      <Text size="sm" c="dimmed">
        {revision === null
          ? "The dataset already had all of this, so there is no new revision."
          : `The import created revision ${revision}.`}
      </Text>
      <Group gap="xs">
        {revision !== null && (
          <Button component={Link} to={`${dataset}?tab=revisions&compare=${revision - 1}...${revision}`}>
            See what changed
          </Button>
        )}
        <Button variant="default" component={Link} to={dataset}>
          Open the items
        </Button>
      </Group>
    </Stack>
  );
}

function Facts({ state }: { state: Import }) {
  const { mapping, started_at: started, finished_at: finished } = state;
  const took = started && finished ? Date.parse(finished) - Date.parse(started) : null;
  return (
    <>
      <FactList>
        <Fact label="Rows" value={state.total === null ? NONE : formatRows(state.total)} />
        <TimeFact label="Finished" time={finished} />
      </FactList>
      <Disclosure summary="How the file was read">
        <FactList>
          <Fact label="Size" value={formatBytes(state.size_bytes)} />
          <Fact label="Format" value={state.format?.toUpperCase() ?? NONE} />
          <Fact label="Mode" value={modeLabels[state.mode]} />
          <Fact label="Rejected rows" value={state.on_error === "skip" ? "Skipped" : "Stop the import"} />
          <Fact label="Duplicates" value={state.dedupe ? "Skipped" : "Kept"} />
          <Fact label="Duration" value={took === null ? NONE : formatDuration(took)} />
          {mapping && mapping.shape !== "columns" && (
            <Fact label="Rows are" value={shapeLabels[mapping.shape]} />
          )}
          {mapping?.shape === "columns" &&
            (["input", "reference_output", "metadata"] as const).map((target) => (
              <Fact
                key={target}
                label={roleLabels[target]}
                value={targetText(mapping[target])}
                title={targetText(mapping[target])}
              />
            ))}
          {mapping?.shape === "columns" &&
            (["key", "split", "tags"] as const)
              .filter((name) => mapping[name])
              .map((name) => <Fact key={name} label={roleLabels[name]} value={mapping[name]} />)}
        </FactList>
      </Disclosure>
    </>
  );
}

function Errors({ state }: { state: Import }) {
  const query = useImportErrors(state.id, state.rejected > 0);
  const save = useMutation({ mutationFn: () => downloadImportErrors(state) });
  return (
    <section className={classes.step} aria-label="Rejected rows">
      <Group justify="space-between" gap="xs" mb="xs">
        <Text component="h2" size="md" fw={620} m={0}>
          {formatCount(state.rejected)} rejected {state.rejected === 1 ? "row" : "rows"}
          {isFinished(state) ? "" : " so far"}
        </Text>
        <Button
          variant="default"
          leftSection={<IconDownload size={14} />}
          loading={save.isPending}
          onClick={() => save.mutate()}
        >
          Download as CSV
        </Button>
      </Group>
      {save.error && <ProblemPanel error={save.error} />}
      <QueryState query={query} skeleton={<Skeleton h={160} />}>
        {({ pages }) => (
          <>
            <DataTable
              label="Rejected rows"
              stacks
              rows={pages.flatMap(({ data }) => data)}
              rowKey={({ line, column, reason }) => `${line} ${column} ${reason}`}
              rowProps={({ line }) => ({ "data-testid": "import-error", "data-line": String(line) })}
              columns={[
                {
                  header: "Line",
                  cell: ({ line }) => <span className={classes.line}>{formatCount(line)}</span>,
                },
                { header: "Column", cell: ({ column }) => column ?? "whole row" },
                { header: "Reason", ownLine: true, cell: ({ reason }) => reason },
                {
                  header: "Value",
                  ownLine: true,
                  cell: ({ value }) => value !== null && <code className={classes.value}>{value}</code>,
                },
              ]}
            />
            <LoadMore query={query} what="errors" />
            {isFinished(state) && !query.hasNextPage && state.errors_kept < state.rejected && (
              <Text size="sm" c="dimmed" mt="xs">
                Only the first {formatCountOf(state.errors_kept, "error")} are kept.
              </Text>
            )}
          </>
        )}
      </QueryState>
    </section>
  );
}

function CancelDialog({ state, onClose }: { state: Import; onClose: () => void }) {
  const cancel = useCancelImport(state);
  return (
    <ConfirmDialog
      title="Cancel this import?"
      action="Cancel import"
      closeLabel="Let it run"
      mutation={cancel}
      onConfirm={() => cancel.mutate(undefined, { onSuccess: onClose })}
      onClose={onClose}
    >
      Nothing from the file is imported. To import it later, upload it again.
    </ConfirmDialog>
  );
}
