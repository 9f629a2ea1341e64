import { TextInput } from "@mantine/core";
import { IconChevronDown, IconChevronUp, IconSearch } from "@tabler/icons-react";
import { formatCount } from "./format";
import { IconButton } from "./IconButton";
import classes from "./JsonTree.module.css";
import type { JsonMatches } from "./jsonSearch";

interface Props {
  /** Names what is searched. */
  what: string;
  text: string;
  onText: (text: string) => void;
  found: JsonMatches | undefined;
  /** The position of the current match. */
  at: number;
  onStep: (step: 1 | -1) => void;
}

/** Finds keys and values in a JSON tree. Enter goes to the next match, Shift+Enter to the previous one. */
export function JsonSearchBox({ what, text, onText, found, at, onStep }: Props) {
  const count = found?.matches.length ?? 0;
  return (
    <search className={classes.search}>
      <TextInput
        size="xs"
        type="search"
        className={classes.searchText}
        aria-label={`Find in ${what}`}
        placeholder="Find keys and values"
        leftSection={<IconSearch size={14} aria-hidden="true" />}
        maxLength={1000}
        // Escape empties the box before it closes the dialog around it.
        data-mantine-stop-propagation={text !== "" || undefined}
        value={text}
        onChange={(event) => onText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") {
            event.preventDefault();
            onStep(event.shiftKey ? -1 : 1);
          }
          if (event.key !== "Escape") return;
          event.preventDefault();
          if (text === "") event.currentTarget.blur();
          else onText("");
        }}
      />
      <span role="status" className={classes.searchCount}>
        {found &&
          (count === 0
            ? "No matches"
            : `${formatCount(at + 1)} of ${formatCount(count)}${found.isCut ? "+" : ""}`)}
      </span>
      {count > 1 && (
        <>
          <IconButton
            label="Previous match (Shift+Enter)"
            onClick={() => onStep(-1)}
            icon={<IconChevronUp size={14} aria-hidden="true" />}
          />
          <IconButton
            label="Next match (Enter)"
            onClick={() => onStep(1)}
            icon={<IconChevronDown size={14} aria-hidden="true" />}
          />
        </>
      )}
    </search>
  );
}
