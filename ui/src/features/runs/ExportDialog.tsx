import { Button, Group, Loader, Stack, Text } from "@mantine/core";
import { useEffect, useState } from "react";
import { exportRuns, type RunsExport } from "@/api/export";
import type { RunFilter } from "@/api/types";
import { Dialog } from "@/components/Dialog";
import { ProblemPanel } from "@/components/ProblemPanel";

interface Props {
  filter: RunFilter;
  what: RunsExport;
  onClose: () => void;
}

/** Exports all runs of the filter while it is open. */
export function ExportDialog({ filter, what, onClose }: Props) {
  // The list may change its filter meanwhile.
  const [asked] = useState({ filter, what });
  const [error, setError] = useState<Error | null>(null);
  const [saved, setSaved] = useState(false);
  useEffect(() => {
    const abort = new AbortController();
    exportRuns(asked.filter, asked.what, abort.signal).then(
      () => setSaved(true),
      (error: Error) => {
        if (!abort.signal.aborted) setError(error);
      },
    );
    return () => abort.abort();
  }, [asked]);
  useEffect(() => {
    if (saved) onClose();
  }, [saved, onClose]);
  return (
    <Dialog title="Export all matching runs" onClose={onClose}>
      <Stack gap="md">
        {error ? (
          <ProblemPanel error={error} />
        ) : (
          <Group gap="sm" wrap="nowrap" role="status">
            <Loader size="xs" />
            <Text size="sm">Reading the runs. The file is saved when all have arrived.</Text>
          </Group>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            {error ? "Close" : "Cancel"}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
