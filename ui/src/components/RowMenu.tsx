import { ActionIcon, Menu, type MenuItemProps, Tooltip } from "@mantine/core";
import { type Icon, IconDots } from "@tabler/icons-react";

/** The actions of one row of a list. `name` names the row. */
export function RowMenu({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <Menu position="bottom-end">
      <Tooltip label="Actions">
        <Menu.Target>
          <ActionIcon
            variant="subtle"
            color="gray"
            size="sm"
            aria-label={`Actions for ${name}`}
            data-row-focus
          >
            <IconDots size={16} />
          </ActionIcon>
        </Menu.Target>
      </Tooltip>
      <Menu.Dropdown>{children}</Menu.Dropdown>
    </Menu>
  );
}

/**
 * A menu item that may be the first and disabled. It takes the focus all the same: without the focus in the menu, Escape
 * would not close it.
 */
export function FirstItem({ disabled = false, onClick, ...props }: MenuItemProps & { onClick: () => void }) {
  return (
    <Menu.Item
      {...props}
      aria-disabled={disabled || undefined}
      data-disabled={disabled || undefined}
      closeMenuOnClick={!disabled}
      onClick={disabled ? undefined : onClick}
    />
  );
}

interface DangerItemProps {
  icon: Icon;
  onClick: () => void;
  children: React.ReactNode;
}

/** A menu item that deletes or revokes something, after a ConfirmDialog. */
export function DangerItem({ icon: Shape, onClick, children }: DangerItemProps) {
  return (
    <Menu.Item leftSection={<Shape size={15} />} c="var(--lt-error-text)" onClick={onClick}>
      {children}
    </Menu.Item>
  );
}
