import { Button } from "@mantine/core";
import { lazy, Suspense, use, useMemo, useState } from "react";
import { CopyButton } from "./CopyButton";
import { formatBytes } from "./format";
import { Highlight, SearchWords } from "./Highlight";
import { JsonTree } from "./JsonTree";
import { parseStructured } from "./json";
import classes from "./RecordedText.module.css";
import { hasHit } from "./words";

// Markdown is large and not always needed.
const Markdown = lazy(() => import("./Markdown"));

/** Longer texts are cut to their first characters. */
const MAX_CHARACTERS = 4_000;
const CUT_CHARACTERS = 2_000;
/** Longer texts stay plain: rendering them as Markdown would block the page. */
const MAX_MARKDOWN = 60_000;

interface Props {
  text: string;
  /** Names the text for the copy button. */
  what: string;
  /** Never renders Markdown. */
  plain?: boolean;
  /** Draws a frame around JSON. */
  framed?: boolean;
}

/** Untrusted recorded text: JSON as a tree, anything else as Markdown. Long text is cut. */
export function RecordedText({ text, what, plain = false, framed = true }: Props) {
  const words = use(SearchWords);
  // Show everything if only the cut part contains the words of the search.
  const [isExpanded, setExpanded] = useState(
    () =>
      text.length <= MAX_MARKDOWN &&
      hasHit(text.slice(CUT_CHARACTERS), words) &&
      !hasHit(text.slice(0, CUT_CHARACTERS), words),
  );
  const structured = useMemo(() => parseStructured(text), [text]);
  if (structured !== undefined)
    return <JsonTree value={structured} text={text} what={what} framed={framed} />;

  const cut = !isExpanded && text.length > MAX_CHARACTERS;
  const shown = cut ? text.slice(0, CUT_CHARACTERS) : text;
  const asPlain = plain || shown.length > MAX_MARKDOWN;
  const plainText = (
    <div className={classes.plain} dir="auto">
      <Highlight text={shown} words={words} />
    </div>
  );
  return (
    <div className={classes.root}>
      <div className={classes.copy}>
        <CopyButton value={text} what={what} />
      </div>
      {asPlain ? (
        plainText
      ) : (
        <Suspense fallback={plainText}>
          <Markdown text={shown} />
        </Suspense>
      )}
      {text.length > MAX_CHARACTERS && (
        <Button
          size="compact-xs"
          variant="default"
          mt="xs"
          onClick={() => setExpanded(!isExpanded)}
          aria-expanded={isExpanded}
        >
          {isExpanded ? "Show less" : `Show all (${formatBytes(new Blob([text]).size)})`}
        </Button>
      )}
    </div>
  );
}
