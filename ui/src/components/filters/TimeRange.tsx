import { Button, Divider, Group, Popover, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconChevronDown, IconClock } from "@tabler/icons-react";
import { useState } from "react";
import classes from "./FilterBar.module.css";
import { type Filters, RANGES, type Range, withTimeRange } from "./filters";

interface Props {
  filters: Filters;
  params: URLSearchParams;
  onChange: (params: URLSearchParams) => void;
}

/** Chooses a preset, all time, or a range in the reader's time zone. */
export function TimeRange({ filters, params, onChange }: Props) {
  const [opened, { toggle, close }] = useDisclosure(false);
  const isCustom = filters.start_after !== null || filters.start_before !== null;
  const label = filters.range ? `Last ${filters.range}` : isCustom ? "Custom time" : "All time";
  const choose = (range: Parameters<typeof withTimeRange>[1]) => {
    onChange(withTimeRange(params, range));
    close();
  };
  return (
    <Popover opened={opened} onChange={(next) => !next && close()} trapFocus width={280} shadow="md">
      <Popover.Target>
        <Button
          size="xs"
          variant="default"
          leftSection={<IconClock size={13} aria-hidden="true" />}
          rightSection={<IconChevronDown size={13} aria-hidden="true" />}
          onClick={toggle}
          aria-label={`Time range: ${label}`}
        >
          {label}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Group gap={6}>
          {(Object.keys(RANGES) as Range[]).map((range) => (
            <Button
              key={range}
              className={classes.preset}
              size="compact-sm"
              variant="default"
              aria-pressed={filters.range === range}
              onClick={() => choose({ preset: range })}
            >
              {range}
            </Button>
          ))}
          <Button
            className={classes.preset}
            size="compact-sm"
            variant="default"
            aria-pressed={!filters.range && !isCustom}
            onClick={() => choose({ preset: null })}
          >
            All
          </Button>
        </Group>
        <Divider my="sm" />
        <Custom
          key={String(opened)}
          after={filters.start_after}
          before={filters.start_before}
          onApply={(after, before) => choose({ preset: null, after, before })}
        />
      </Popover.Dropdown>
    </Popover>
  );
}

interface CustomProps {
  after: string | null;
  before: string | null;
  onApply: (after: string | null, before: string | null) => void;
}

function Custom({ after, before, onApply }: CustomProps) {
  const [from, setFrom] = useState(toLocal(after));
  const [until, setUntil] = useState(toLocal(before));
  const isReversed = from !== "" && until !== "" && Date.parse(from) >= Date.parse(until);
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    onApply(toISO(from), toISO(until));
  };
  return (
    <form onSubmit={submit} className={classes.form}>
      <TextInput
        type="datetime-local"
        step={1}
        size="xs"
        label="From"
        value={from}
        onChange={(event) => setFrom(event.currentTarget.value)}
      />
      <TextInput
        type="datetime-local"
        step={1}
        size="xs"
        label="Until"
        value={until}
        onChange={(event) => setUntil(event.currentTarget.value)}
        error={isReversed ? "must be after From" : undefined}
      />
      <Button type="submit" variant="default" disabled={isReversed || (from === "" && until === "")}>
        Apply
      </Button>
    </form>
  );
}

function toISO(local: string): string | null {
  return local === "" ? null : new Date(local).toISOString();
}

function toLocal(time: string | null): string {
  if (!time) return "";
  const date = new Date(time);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
