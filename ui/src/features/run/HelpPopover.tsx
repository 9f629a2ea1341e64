import { Popover, UnstyledButton } from "@mantine/core";

interface Props extends Omit<React.ComponentProps<typeof UnstyledButton<"button">>, "children"> {
  /** What the button shows. */
  button: React.ReactNode;
  /** What is explained: "Replayability". */
  label: string;
  width: number;
  dropdownClassName?: string;
  children: React.ReactNode;
}

/** A button in the head of a run. A click shows what it means. */
export function HelpPopover({ button, label, width, dropdownClassName, children, ...props }: Props) {
  return (
    <Popover
      width={`min(${width}px, calc(100vw - 32px))`}
      position="bottom-start"
      shadow="md"
      trapFocus
      returnFocus
    >
      <Popover.Target>
        <UnstyledButton {...props}>{button}</UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown className={dropdownClassName} aria-label={label} tabIndex={0}>
        {children}
      </Popover.Dropdown>
    </Popover>
  );
}
