import { CloseButton } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { useMemo } from "react";
import editor from "@/components/editor/Editor.module.css";
import { AddFilter } from "./AddFilter";
import classes from "./FilterBar.module.css";
import { readFilters, SOURCES, toggleParam, withParam } from "./filters";
import { RunChoices } from "./RunChoices";
import { filterParts } from "./runFilter";

interface Props {
  /** A query string, as in the address of the Runs page. */
  value: string;
  onChange: (value: string) => void;
  /** For runs that are scored as they come: not by scores, and not those that judges make. */
  forRules?: boolean;
  error?: string;
}

/** Chooses runs in a form, by the filters of the Runs page without times. */
export function RunFilterField({ value, onChange, forRules = false, error }: Props) {
  const params = useMemo(() => new URLSearchParams(value), [value]);
  const filters = useMemo(() => readFilters(params, null), [params]);
  const parts = filterParts(value);
  const set = (next: URLSearchParams) => onChange(next.toString());
  const sources = forRules
    ? SOURCES.filter(({ value: source }) => source !== "evaluation" && source !== "all")
    : SOURCES;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has a border and a width of its own
    <div className={classes.field} role="group" aria-label="Filter of runs">
      <div className={classes.tools}>
        <RunChoices filters={filters} params={params} sources={sources} onChange={set} />
        <AddFilter filters={filters} params={params} onChange={set} withScores={!forRules} />
      </div>
      <ul className={classes.chips} aria-label="Filters">
        {parts.length === 0 && <li className={classes.none}>All runs</li>}
        {parts.map(({ param, value: one, label }) => (
          <li key={param + (one ?? "")} className={classes.chip}>
            <bdi className={classes.chipLabel} title={label}>
              {label}
            </bdi>
            <CloseButton
              size="xs"
              icon={<IconX size={12} />}
              aria-label={`Remove filter ${label}`}
              onClick={() =>
                set(one === undefined ? withParam(params, param, null) : toggleParam(params, param, one))
              }
            />
          </li>
        ))}
      </ul>
      {error && <p className={editor.error}>{error}</p>}
    </div>
  );
}
