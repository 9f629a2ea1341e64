import { Badge } from "@mantine/core";
import { IconBan, IconCheck, IconClock, IconLoader, IconUpload, IconX } from "@tabler/icons-react";
import type { ImportStatus } from "@/api/types";
import { statusLabels } from "./progress";

const icons = {
  uploading: IconUpload,
  queued: IconClock,
  running: IconLoader,
  succeeded: IconCheck,
  failed: IconX,
  cancelled: IconBan,
};

/** The status of an import, by shape and word. */
export function ImportStatusMark({ status }: { status: ImportStatus }) {
  const Shape = icons[status];
  const isFailed = status === "failed";
  return (
    <Badge
      size="sm"
      tt="none"
      variant={isFailed ? "outline" : "light"}
      color={isFailed ? "red" : "gray"}
      c={isFailed ? "var(--lt-error-text)" : "var(--lt-text)"}
      leftSection={<Shape size={12} aria-hidden="true" />}
      data-testid="import-status"
      data-status={status}
    >
      {statusLabels[status]}
    </Badge>
  );
}
