import { ActionIcon, Tooltip } from "@mantine/core";

interface Props {
  label: string;
  icon: React.ReactNode;
  disabled?: boolean;
  onClick: (event: React.MouseEvent<HTMLButtonElement>) => void;
}

/** A small button whose label shows on hover. */
export function IconButton({ label, icon, disabled, onClick }: Props) {
  return (
    <Tooltip label={label}>
      <ActionIcon
        variant="subtle"
        color="gray"
        size={24}
        aria-label={label}
        disabled={disabled}
        onClick={onClick}
      >
        {icon}
      </ActionIcon>
    </Tooltip>
  );
}
