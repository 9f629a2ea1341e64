import { Button, CloseButton } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { useCallback, useEffect, useRef, useState } from "react";
import type { ViewPage } from "@/api/types";
import { SearchBox } from "@/components/SearchBox";
import { useKeys } from "@/components/useKeys";
import { AddFilter } from "./AddFilter";
import classes from "./FilterBar.module.css";
import { chips, type Filters, toggleOnlyFailed, toggleParam, withoutParams, withParam } from "./filters";
import { RunChoices } from "./RunChoices";
import { SavedViews } from "./SavedViews";
import { TimeRange } from "./TimeRange";

interface Props {
  page: ViewPage;
  filters: Filters;
  params: URLSearchParams;
  onChange: (params: URLSearchParams, options?: { replace: boolean }) => void;
  /** Replaces the usual choice of a time range. */
  timeRange?: React.ReactNode;
  /** More controls, after the filters. */
  children?: React.ReactNode;
}

/** Search, filters, and a chip for each active filter. The e key shows only failed runs. */
export function FilterBar({ page, filters, params, onChange, timeRange, children }: Props) {
  const active = chips(filters);
  useKeys(page === "failures" ? {} : { e: () => onChange(toggleOnlyFailed(params)) });
  const drop = (param: string, value?: string) =>
    onChange(value === undefined ? withParam(params, param, null) : toggleParam(params, param, value));
  return (
    <div className={classes.root}>
      <search className={classes.tools}>
        <Search
          value={filters.search}
          onChange={(search) => onChange(withParam(params, "search", search), { replace: true })}
        />
        <RunChoices filters={filters} params={params} onChange={onChange} />
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
}

/** Searches when typing pauses. */
function Search({ value, onChange }: SearchProps) {
  const [text, setText] = useState(value);
  const sent = useRef(value);
  useEffect(() => {
    // The address catches up while more is typed. Any other value comes from elsewhere, such as the back button.
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
    <SearchBox
      label="Search runs"
      placeholder="Search names, inputs, outputs, errors"
      title={'Finds runs with all words in one step. Use "quotes" for a phrase.'}
      value={text}
      onChange={setText}
      onEnter={() => send(text)}
    />
  );
}
