import { Button } from "@mantine/core";
import { lazy, Suspense, useMemo, useState } from "react";
import { CopyButton } from "./CopyButton";
import { formatBytes } from "./format";
import { JsonTree } from "./JsonTree";
import { parseStructured } from "./json";
import classes from "./RecordedText.module.css";

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
  const [whole, setWhole] = useState(false);
  const structured = useMemo(() => parseStructured(text), [text]);
  if (structured !== undefined) return <JsonTree value={structured} what={what} framed={framed} />;

  const cut = !whole && text.length > FOLD;
  const shown = cut ? text.slice(0, HEAD) : text;
  const asPlain = plain || shown.length > MARKDOWN_LIMIT;
  const plainText = <div className={classes.plain}>{shown}</div>;
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
