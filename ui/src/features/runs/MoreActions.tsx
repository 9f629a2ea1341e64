import { ActionIcon, Menu, Text, Tooltip } from "@mantine/core";
import { IconDatabasePlus, IconDots, IconDownload, IconFilterCheck, IconTrash } from "@tabler/icons-react";
import { Link } from "react-router";
import type { RunsExport } from "@/api/export";
import { DangerItem } from "@/components/RowMenu";

interface Props {
  onExport: (what: RunsExport) => void;
  /** Missing if the user may not change datasets. */
  onAdd?: () => void;
  /** The form of a rule for such runs; missing if the user may not make rules. */
  rulePath?: string;
  /** Missing if the user may not delete runs. */
  onDelete?: () => void;
}

const EXPORTS: (RunsExport & { label: string; help?: string })[] = [
  { label: "NDJSON: runs", format: "ndjson", withSpans: false },
  { label: "NDJSON: runs with spans", format: "ndjson", withSpans: true },
  { label: "Parquet: runs", format: "parquet", withSpans: false },
  { label: "Parquet: spans", format: "parquet", withSpans: true },
  {
    label: "OTLP/JSON: spans and scores",
    help: "For any OpenTelemetry backend",
    format: "otlp_json",
    withSpans: false,
  },
];

/** Actions on all runs that match the filters. */
export function MoreActions({ onExport, onAdd, rulePath, onDelete }: Props) {
  return (
    <Menu position="bottom-end" width={290}>
      <Tooltip label="More actions">
        <Menu.Target>
          <ActionIcon variant="default" size={30} aria-label="More actions">
            <IconDots size={15} stroke={1.7} />
          </ActionIcon>
        </Menu.Target>
      </Tooltip>
      <Menu.Dropdown>
        <Menu.Label>Export all matching runs</Menu.Label>
        {EXPORTS.map(({ label, help, format, withSpans }) => (
          <Menu.Item
            key={label}
            leftSection={<IconDownload size={15} />}
            onClick={() => onExport({ format, withSpans })}
          >
            {label}
            {help && (
              <Text size="xs" c="dimmed">
                {help}
              </Text>
            )}
          </Menu.Item>
        ))}
        {(onAdd ?? rulePath) && <Menu.Divider />}
        {onAdd && (
          <Menu.Item leftSection={<IconDatabasePlus size={15} />} onClick={onAdd}>
            Add all matching runs to a dataset…
          </Menu.Item>
        )}
        {rulePath && (
          <Menu.Item component={Link} to={rulePath} leftSection={<IconFilterCheck size={15} />}>
            Score runs like these…
          </Menu.Item>
        )}
        {onDelete && (
          <>
            <Menu.Divider />
            <DangerItem icon={IconTrash} onClick={onDelete}>
              Delete all matching runs…
            </DangerItem>
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
