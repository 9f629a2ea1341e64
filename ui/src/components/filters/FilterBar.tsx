import { Button, CloseButton, Menu, TextInput } from "@mantine/core";
import { IconChevronDown, IconSearch, IconX } from "@tabler/icons-react";
import { useCallback, useEffect, useRef, useState } from "react";
import type { ViewPage } from "@/api/types";
import { KINDS, KindIcon } from "@/components/KindIcon";
import { StatusMark } from "@/components/StatusMark";
import { AddFilter } from "./AddFilter";
import classes from "./FilterBar.module.css";
import { chips, type Filters, STATUSES, toggleParam, withoutParams, withParam } from "./filters";
import { SavedViews } from "./SavedViews";
import { TimeRange } from "./TimeRange";

interface Props {
  page: ViewPage;
  filters: Filters;
  params: URLSearchParams;
  onChange: (params: URLSearchParams, options?: { replace: boolean }) => void;
  searchBox: React.RefObject<HTMLInputElement | null>;
  /** The page's own choice of a time, in place of the one of runs. */
  timeRange?: React.ReactNode;
  /** What stands after the filters: choices of the page's own. */
  children?: React.ReactNode;
}

/** Search, the filters to choose from, and a chip for each that is set. */
export function FilterBar({ page, filters, params, onChange, searchBox, timeRange, children }: Props) {
  const active = chips(filters);
  const drop = (param: string, value?: string) =>
    onChange(value === undefined ? withParam(params, param, null) : toggleParam(params, param, value));
  return (
    <div className={classes.root}>
      <search className={classes.tools}>
        <Search
          value={filters.search}
          onChange={(search) => onChange(withParam(params, "search", search), { replace: true })}
          box={searchBox}
        />
        <Choice
          label="Status"
          options={STATUSES}
          chosen={filters.status}
          icon={(status) => <StatusMark status={status} />}
          onToggle={(status) => onChange(toggleParam(params, "status", status))}
        />
        <Choice
          label="Kind"
          options={KINDS}
          chosen={filters.kind}
          icon={(kind) => <KindIcon kind={kind} />}
          onToggle={(kind) => onChange(toggleParam(params, "kind", kind))}
        />
        {timeRange ?? <TimeRange filters={filters} params={params} onChange={onChange} />}
        <AddFilter filters={filters} params={params} onChange={onChange} />
        <SavedViews page={page} params={params} onChange={onChange} />
        {children}
      </search>
      {active.length > 0 && (
        <ul className={classes.chips} aria-label="Filters">
          {active.map((chip) => (
            <li key={chip.param + (chip.value ?? "")} className={classes.chip}>
              <span className={classes.chipLabel}>{chip.label}</span>
              <CloseButton
                size="xs"
                icon={<IconX size={12} />}
                aria-label={`Remove filter ${chip.label}`}
                onClick={() => drop(chip.param, chip.value)}
              />
            </li>
          ))}
          <li>
            <Button
              size="compact-xs"
              variant="subtle"
              color="gray"
              onClick={() => onChange(withoutParams(params, active))}
            >
              Clear
            </Button>
          </li>
        </ul>
      )}
    </div>
  );
}

interface SearchProps {
  value: string;
  onChange: (value: string) => void;
  box: React.RefObject<HTMLInputElement | null>;
}

function Search({ value, onChange, box }: SearchProps) {
  const [text, setText] = useState(value);
  const sent = useRef(value);
  useEffect(() => {
    // What was sent comes back while more is typed already. Anything else is a change by other means: back, a cleared filter.
    if (value === sent.current) return;
    sent.current = value;
    setText(value);
  }, [value]);
  const send = useCallback(
    (search: string) => {
      sent.current = search;
      onChange(search);
    },
    [onChange],
  );
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => send(text), 250);
    return () => clearTimeout(timer);
  }, [text, value, send]);
  return (
    <TextInput
      ref={box}
      className={classes.search}
      size="xs"
      type="search"
      aria-label="Search runs"
      placeholder="Search names, inputs, outputs, errors"
      title={'Runs that have all the words in one step. "In quotes" they stand one after the other.'}
      leftSection={<IconSearch size={14} aria-hidden="true" />}
      maxLength={1000}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === "Escape") event.currentTarget.blur();
        if (event.key === "Enter") send(text);
      }}
    />
  );
}

interface ChoiceProps<T extends string> {
  label: string;
  options: readonly T[];
  chosen: readonly T[];
  icon: (option: T) => React.ReactNode;
  onToggle: (option: T) => void;
}

function Choice<T extends string>({ label, options, chosen, icon, onToggle }: ChoiceProps<T>) {
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
