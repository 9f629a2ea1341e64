import { ActionIcon, Menu, Tooltip } from "@mantine/core";
import { IconColumns3 } from "@tabler/icons-react";
import { COLUMNS, type ColumnId, isDefault, readColumns } from "./columns";

interface Props {
  columns: readonly ColumnId[];
  onChange: (columns: ColumnId[]) => void;
}

/** Chooses the columns of the list. */
export function ColumnChooser({ columns, onChange }: Props) {
  const toggle = (id: ColumnId) =>
    onChange(COLUMNS.map((column) => column.id).filter((item) => (item === id) !== columns.includes(item)));
  return (
    <Menu position="bottom-end" closeOnItemClick={false}>
      <Tooltip label="Columns">
        <Menu.Target>
          <ActionIcon variant="default" size={30} aria-label="Columns">
            <IconColumns3 size={15} stroke={1.7} />
          </ActionIcon>
        </Menu.Target>
      </Tooltip>
      <Menu.Dropdown>
        {COLUMNS.map(({ id, label }) => (
          <Menu.CheckboxItem key={id} checked={columns.includes(id)} onChange={() => toggle(id)}>
            {label}
          </Menu.CheckboxItem>
        ))}
        <Menu.Divider />
        <Menu.Item disabled={isDefault(columns)} onClick={() => onChange(readColumns(null))}>
          Reset columns
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
