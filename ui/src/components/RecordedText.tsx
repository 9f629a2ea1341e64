import { Button } from "@mantine/core";
import { lazy, Suspense, use, useMemo, useState } from "react";
import { CopyButton } from "./CopyButton";
import { formatBytes } from "./format";
import { JsonTree } from "./JsonTree";
import { parseStructured } from "./json";
import { Marked, SearchWords } from "./Marked";
import classes from "./RecordedText.module.css";
import { hasHit } from "./words";

// Markdown is the heaviest part of the page and not always needed.
const Markdown = lazy(() => import("./Markdown"));

const FOLD = 4_000;
const HEAD = 2_000;
/** Beyond it, a text stays plain: laying it out as Markdown would hold up the page. */
const MARKDOWN_LIMIT = 60_000;

interface Props {
  text: string;
  /** What it is, for the copy button. */
  what: string;
  /** Plain text, no Markdown. */
  plain?: boolean;
  /** JSON gets a frame of its own; false where it stands in one. */
  framed?: boolean;
}

/** Text that was recorded, untrusted: a tree where it is JSON, else Markdown; long text folds and says its size. */
export function RecordedText({ text, what, plain = false, framed = true }: Props) {
  const words = use(SearchWords);
  // What was searched for is not folded away.
  const [whole, setWhole] = useState(
    () =>
      text.length <= MARKDOWN_LIMIT && hasHit(text.slice(HEAD), words) && !hasHit(text.slice(0, HEAD), words),
  );
  const structured = useMemo(() => parseStructured(text), [text]);
  if (structured !== undefined)
    return <JsonTree value={structured} text={text} what={what} framed={framed} />;

  const cut = !whole && text.length > FOLD;
  const shown = cut ? text.slice(0, HEAD) : text;
  const asPlain = plain || shown.length > MARKDOWN_LIMIT;
  const plainText = (
    <div className={classes.plain}>
      <Marked text={shown} words={words} />
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
      {text.length > FOLD && (
        <Button
          size="compact-xs"
          variant="default"
          mt="xs"
          onClick={() => setWhole(!whole)}
          aria-expanded={whole}
        >
          {whole ? "Fold" : `Show all (${formatBytes(new Blob([text]).size)})`}
        </Button>
      )}
    </div>
  );
}
