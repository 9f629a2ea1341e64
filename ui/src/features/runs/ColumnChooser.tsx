import { ActionIcon, Popover, Tooltip } from "@mantine/core";
import { IconColumns3 } from "@tabler/icons-react";
import { useState } from "react";
import { onDemand } from "@/components/onDemand";
import type { ColumnChoicesProps } from "./ColumnChoices";

const ColumnChoices = onDemand(async () => (await import("./ColumnChoices")).ColumnChoices);

/** Chooses the columns of the list, among them scores and metadata of the project. */
export function ColumnChooser(props: ColumnChoicesProps) {
  const [opened, setOpened] = useState(false);
  return (
    <Popover
      position="bottom-end"
      width={280}
      shadow="md"
      trapFocus
      returnFocus
      opened={opened}
      onChange={setOpened}
    >
      <Tooltip label="Columns" disabled={opened}>
        <Popover.Target>
          <ActionIcon
            variant="default"
            size={30}
            aria-label="Columns"
            onClick={() => setOpened((before) => !before)}
          >
            <IconColumns3 size={15} stroke={1.7} />
          </ActionIcon>
        </Popover.Target>
      </Tooltip>
      <Popover.Dropdown p={6}>
        <ColumnChoices {...props} />
      </Popover.Dropdown>
    </Popover>
  );
}
