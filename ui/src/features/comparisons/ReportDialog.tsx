import { Button, Group, Skeleton, Stack, Text } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useComparisonReport } from "@/api/comparisons";
import type { Comparison } from "@/api/types";
import { CodeBlock } from "@/components/CodeBlock";
import { CopyButton } from "@/components/CopyButton";
import { Dialog } from "@/components/Dialog";
import { QueryState } from "@/components/QueryState";

interface Props {
  comparison: Comparison;
  onClose: () => void;
  onJUnit: () => void;
  isSaving: boolean;
}

/** The report in Markdown to copy, and the one for CI to download. */
export function ReportDialog({ comparison, onClose, onJUnit, isSaving }: Props) {
  const query = useComparisonReport(comparison.id);
  return (
    <Dialog onClose={onClose} title={`Report of “${comparison.name}”`} size="xl">
      <Stack gap="sm">
        <Text size="sm">
          The result in Markdown, with the items that got worse or failed, for a pull request or for a model.
          Texts in it come from the dataset and the models.
        </Text>
        <QueryState query={query} skeleton={<Skeleton h={320} />}>
          {(text) => (
            <>
              <CodeBlock code={text} what="report" maxHeight={420} />
              <Group justify="flex-end">
                <Button
                  variant="default"
                  leftSection={<IconDownload size={14} />}
                  loading={isSaving}
                  onClick={onJUnit}
                >
                  Download JUnit
                </Button>
                <CopyButton value={text} what="Markdown" labelled />
              </Group>
            </>
          )}
        </QueryState>
      </Stack>
    </Dialog>
  );
}
