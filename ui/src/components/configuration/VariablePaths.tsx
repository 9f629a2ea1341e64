import { Autocomplete } from "@mantine/core";
import { IconChevronLeft, IconChevronRight } from "@tabler/icons-react";
import { useMemo, useState } from "react";
import { writeJson } from "@/api/json";
import type { DatasetItem } from "@/api/types";
import { firstWords } from "@/components/format";
import type { FormErrors } from "@/components/formErrors";
import { IconButton } from "@/components/IconButton";
import classes from "./Configuration.module.css";
import { itemValue, pathsOf } from "./itemValue";

interface Props {
  /** Whose variables they are: "A". */
  of: string;
  /** Of variables and placeholders. */
  names: readonly string[];
  paths: Record<string, string>;
  items: readonly DatasetItem[];
  errors: FormErrors;
  /** The location of the paths in the request. */
  at: string;
  onChange: (name: string, path: string) => void;
}

/** Where variables take their values from, and what an item gives them. */
export function VariablePaths({ of, names, paths, items, errors, at, onChange }: Props) {
  const [index, setIndex] = useState(0);
  const known = useMemo(() => pathsOf(items), [items]);
  const shown = Math.min(index, Math.max(0, items.length - 1));
  const item = items[shown];
  if (names.length === 0)
    return (
      <p className={classes.note}>The messages have no variables, so each item gets the same request.</p>
    );
  return (
    <div className={classes.paths} data-testid="variables">
      <div className={classes.pathsHead}>
        <strong>Variables of {of}</strong>
        {item && (
          <span>
            Values of {item.key ?? `item ${shown + 1}`}
            <IconButton
              label={`Previous item for ${of}`}
              icon={<IconChevronLeft size={14} />}
              disabled={shown === 0}
              onClick={() => setIndex(shown - 1)}
            />
            <IconButton
              label={`Next item for ${of}`}
              icon={<IconChevronRight size={14} />}
              disabled={shown >= items.length - 1}
              onClick={() => setIndex(shown + 1)}
            />
          </span>
        )}
      </div>
      {names.map((name) => {
        const path = paths[name] ?? "";
        const value = item ? itemValue(item, name, path) : undefined;
        return (
          <div key={name} className={classes.path}>
            <Autocomplete
              size="xs"
              label={name}
              aria-label={`Where ${name} of ${of} comes from`}
              placeholder={name === "input" ? "input" : `input.${name}`}
              data={known}
              limit={30}
              maxLength={500}
              value={path}
              onChange={(changed) => onChange(name, changed)}
              error={errors[`${at}.${name}`]}
            />
            {item && (
              <span
                className={classes.value}
                data-missing={value === undefined || undefined}
                data-testid="variable-value"
                dir="auto"
              >
                {value === undefined ? "nothing: the item has no such value" : oneLine(value)}
              </span>
            )}
          </div>
        );
      })}
    </div>
  );
}

function oneLine(value: unknown): string {
  const text = firstWords(typeof value === "string" ? value : writeJson(value), 160);
  return text === "" ? "an empty text" : text;
}
