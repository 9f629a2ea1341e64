import { Button, Combobox, TextInput, useCombobox, VisuallyHidden } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconCheck } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";
import { useRunFields, useRunFieldValues } from "@/api/stats";
import type { RunFilter } from "@/api/types";
import { formatCount, formatRuns } from "@/components/format";
import classes from "./ColumnChoices.module.css";
import { COLUMNS, DEFAULT_LAYOUT, inOrder, type Layout } from "./columns";
import { MAX_OWN, METADATA, ofKind, ownName, SCORE } from "./ownColumns";

export interface ColumnChoicesProps {
  /** The runs whose scores and metadata are offered. */
  filter: RunFilter;
  layout: Layout;
  onChange: (layout: Layout) => void;
}

interface Offer {
  id: string;
  label: string;
  /** How many runs have it; null if unknown. */
  count: number | null;
}

/** The columns to choose from, those of scores and metadata of the runs among them. */
export function ColumnChoices({ filter, layout, onChange }: ColumnChoicesProps) {
  const combobox = useCombobox({ opened: true });
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  const [text, setText] = useState("");
  const wanted = text.trim().toLowerCase();
  const [prefix] = useDebouncedValue(text.trim(), 150);
  const fields = useRunFields(filter, true);
  const names = useRunFieldValues(filter, "score_name", prefix);
  const keys = (fields.data?.data ?? []).flatMap(({ name, count }) =>
    name.startsWith("metadata.") ? [{ value: name.slice("metadata.".length), count }] : [],
  );
  const { columns } = layout;
  const toggle = (id: string) =>
    onChange({
      ...layout,
      columns: inOrder(
        columns.some((known) => known === id) ? columns.filter((known) => known !== id) : [...columns, id],
      ),
    });
  const matches = ({ label }: Offer) => label.toLowerCase().includes(wanted);
  const general = COLUMNS.map(({ id, label }): Offer => ({ id, label, count: null }));
  const groups = [
    { label: "Columns", offers: general.filter(matches), state: "None match." },
    {
      label: "Scores",
      offers: offersOf(SCORE, layout, names.data?.data ?? []).filter(matches),
      state: stateOf(names, "No scores in these runs.", wanted),
      isFull: ofKind(columns, SCORE).length >= MAX_OWN,
    },
    {
      label: "Metadata",
      offers: offersOf(METADATA, layout, keys).filter(matches),
      state: stateOf(fields, "No metadata in these runs.", wanted),
      isFull: ofKind(columns, METADATA).length >= MAX_OWN,
    },
  ];
  return (
    <Combobox store={combobox} onOptionSubmit={toggle} withinPortal={false}>
      <Combobox.EventsTarget>
        <TextInput
          size="xs"
          ref={input}
          aria-label="Search columns"
          placeholder="Search columns, scores and metadata…"
          maxLength={200}
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
            combobox.resetSelectedOption();
          }}
          onKeyDown={(event) => {
            // Without a selection, Enter takes the first option.
            if (event.key === "Enter" && combobox.getSelectedOptionIndex() < 0) combobox.selectFirstOption();
          }}
        />
      </Combobox.EventsTarget>
      {/* A scrolling region must be reachable by keyboard. */}
      <Combobox.Options className={classes.options} aria-label="Columns" tabIndex={0}>
        {groups.map(({ label, offers, state, isFull }) => (
          <Combobox.Group key={label} label={isFull ? `${label} (at most ${MAX_OWN})` : label}>
            {offers.map(({ id, label, count }) => {
              const isOn = columns.some((known) => known === id);
              return (
                <Combobox.Option
                  key={id}
                  value={id}
                  active={isOn}
                  disabled={isFull && !isOn}
                  className={classes.option}
                  title={label}
                >
                  <IconCheck size={13} stroke={2.2} aria-hidden="true" data-on={isOn} />
                  <bdi className={classes.text}>{label}</bdi>
                  {isOn && <VisuallyHidden>, shown</VisuallyHidden>}
                  {count !== null && (
                    <span className={classes.count} title={formatRuns(count)}>
                      {formatCount(count)}
                    </span>
                  )}
                </Combobox.Option>
              );
            })}
            {offers.length === 0 && <Combobox.Empty className={classes.empty}>{state}</Combobox.Empty>}
          </Combobox.Group>
        ))}
      </Combobox.Options>
      <Button variant="subtle" size="xs" fullWidth mt={4} onClick={() => onChange(DEFAULT_LAYOUT)}>
        Reset columns
      </Button>
    </Combobox>
  );
}

/** The chosen columns of one kind, which the runs may no longer have, then the others. */
function offersOf(
  kind: typeof SCORE | typeof METADATA,
  { columns }: Layout,
  known: readonly { value: string; count: number | null }[],
): Offer[] {
  const chosen = ofKind(columns, kind).map(ownName);
  const count = (name: string) => known.find(({ value }) => value === name)?.count ?? null;
  const others = known.filter(({ value }) => !chosen.includes(value));
  return [
    ...chosen.map((name) => ({ id: kind + name, label: name, count: count(name) })),
    ...others.map(({ value, count }) => ({ id: kind + value, label: value, count })),
  ];
}

/** What a group without columns says. */
function stateOf(query: { isPending: boolean; isError: boolean }, empty: string, wanted: string): string {
  if (query.isPending) return "Loading…";
  if (query.isError) return "Couldn't load them. Close and open the menu to retry.";
  return wanted === "" ? empty : "None match.";
}
