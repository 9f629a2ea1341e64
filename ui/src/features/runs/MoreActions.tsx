import { ActionIcon, Menu, Tooltip } from "@mantine/core";
import { IconDots, IconDownload, IconTrash } from "@tabler/icons-react";
import { type ExportFormat, exportAddress } from "@/api/export";
import type { RunFilter } from "@/api/runs";

interface Props {
  filter: RunFilter;
  /** Absent where the caller may not. */
  onDelete?: () => void;
}

const EXPORTS: { label: string; format: ExportFormat; withSpans: boolean }[] = [
  { label: "NDJSON: runs", format: "ndjson", withSpans: false },
  { label: "NDJSON: runs and their spans", format: "ndjson", withSpans: true },
  { label: "Parquet: runs", format: "parquet", withSpans: false },
  { label: "Parquet: their spans", format: "parquet", withSpans: true },
];

/** What can be done with all runs that the filters select. */
export function MoreActions({ filter, onDelete }: Props) {
  return (
    <Menu position="bottom-end" width={240}>
      <Tooltip label="Export, delete">
        <Menu.Target>
          <ActionIcon variant="default" size={30} aria-label="Export, delete">
            <IconDots size={15} stroke={1.7} />
          </ActionIcon>
        </Menu.Target>
      </Tooltip>
      <Menu.Dropdown>
        <Menu.Label>Export all that match</Menu.Label>
        {EXPORTS.map(({ label, format, withSpans }) => (
          <Menu.Item
            key={label}
            component="a"
            href={exportAddress(filter, format, withSpans)}
            download
            leftSection={<IconDownload size={15} />}
          >
            {label}
          </Menu.Item>
        ))}
        {onDelete && (
          <>
            <Menu.Divider />
            <Menu.Item
              leftSection={<IconTrash size={15} />}
              color="red"
              c="var(--lt-error-text)"
              onClick={onDelete}
            >
              Delete all that match…
            </Menu.Item>
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
