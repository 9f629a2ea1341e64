import { lazy, memo, Suspense, useEffect, useMemo, useState } from "react";
import { JsonTree } from "@/components/JsonTree";
import { parseStructured } from "@/components/json";
import classes from "./Answer.module.css";
import { blocksOf } from "./blocks";

// Markdown is large and not always needed.
const Markdown = lazy(() => import("@/components/Markdown"));

/** Longer texts stay plain. */
const MAX_MARKDOWN = 100_000;
/** A block is formatted this often, so that other columns go on meanwhile. */
const STEP_MS = 20;

/** A text of a model: plain while it arrives, then JSON as a tree, and anything else as Markdown. */
export function ModelText({ pieces, isDone }: { pieces: readonly string[]; isDone: boolean }) {
  return isDone ? <Formatted pieces={pieces} /> : <Pieces pieces={pieces} />;
}

/** A plain text in pieces, of which only the last one grows. */
export function Pieces({ pieces }: { pieces: readonly string[] }) {
  return (
    <div className={classes.plain}>
      {pieces.map((piece, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: pieces are only added at the end
        <Piece key={index} text={piece} />
      ))}
    </div>
  );
}

/** A block of its own, which the browser lays out as a whole. The line break at its end is that of the block. */
const Piece = memo(({ text }: { text: string }) => (
  <div className={classes.piece}>{text.endsWith("\n") ? text.slice(0, -1) || " " : text}</div>
));

const Formatted = memo(({ pieces }: { pieces: readonly string[] }) => {
  const text = useMemo(() => pieces.join(""), [pieces]);
  const structured = useMemo(() => parseStructured(text), [text]);
  if (structured !== undefined) return <JsonTree value={structured} text={text} what="answer" />;
  if (text.length > MAX_MARKDOWN) return <Pieces pieces={pieces} />;
  return <Blocks text={text} />;
});

/** Markdown that is formatted block by block, from the top. */
function Blocks({ text }: { text: string }) {
  const blocks = useMemo(() => blocksOf(text), [text]);
  const [formatted, setFormatted] = useState(1);
  const isComplete = formatted >= blocks.length;
  useEffect(() => {
    if (isComplete) return;
    const timer = setInterval(() => setFormatted((count) => count + 1), STEP_MS);
    return () => clearInterval(timer);
  }, [isComplete]);
  return (
    <div aria-busy={!isComplete || undefined}>
      {blocks.map((block, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: blocks of a finished text don't change
        <Block key={index} text={block} isFormatted={index < formatted} />
      ))}
    </div>
  );
}

const Block = memo(({ text, isFormatted }: { text: string; isFormatted: boolean }) => {
  const plain = <div className={classes.plain}>{text}</div>;
  return (
    <div className={classes.block}>
      {isFormatted ? (
        <Suspense fallback={plain}>
          <Markdown text={text} />
        </Suspense>
      ) : (
        plain
      )}
    </div>
  );
});
