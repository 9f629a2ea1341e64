import { Button, Menu } from "@mantine/core";
import { IconChevronDown } from "@tabler/icons-react";

interface ChoiceProps<T extends string> {
  label: string;
  options: readonly T[];
  chosen: readonly T[];
  icon: (option: T) => React.ReactNode;
  onToggle: (option: T) => void;
}

/** A menu of values, any number of which can be chosen. */
export function Choice<T extends string>({ label, options, chosen, icon, onToggle }: ChoiceProps<T>) {
  return (
    <Menu position="bottom-start">
      <Menu.Target>
        <Button
          size="xs"
          variant="default"
          rightSection={<IconChevronDown size={13} aria-hidden="true" />}
          data-active={chosen.length > 0 || undefined}
        >
          {label}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {options.map((option) => (
          <Menu.CheckboxItem
            key={option}
            checked={chosen.includes(option)}
            onChange={() => onToggle(option)}
            rightSection={<span aria-hidden="true">{icon(option)}</span>}
          >
            {option}
          </Menu.CheckboxItem>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

interface OneOfProps<T extends string> {
  label: string;
  /** The first is the default. */
  options: readonly { value: T; label: string }[];
  chosen: T;
  onChoose: (option: T) => void;
}

/** A menu of values, one of which is chosen. */
export function OneOf<T extends string>({ label, options, chosen, onChoose }: OneOfProps<T>) {
  return (
    <Menu position="bottom-start">
      <Menu.Target>
        <Button
          size="xs"
          variant="default"
          rightSection={<IconChevronDown size={13} aria-hidden="true" />}
          data-active={chosen !== options[0]?.value || undefined}
        >
          {label}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.RadioGroup value={chosen} onChange={(value) => onChoose(value as T)}>
          {options.map(({ value, label: text }) => (
            <Menu.RadioItem key={value} value={value}>
              {text}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
      </Menu.Dropdown>
    </Menu>
  );
}
