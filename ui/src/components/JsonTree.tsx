import { use, useState } from "react";
import { writeJson } from "@/api/json";
import { CopyButton } from "./CopyButton";
import { Highlight, SearchWords } from "./Highlight";
import classes from "./JsonTree.module.css";
import { isBranch, type Json, type JsonBranch, summarize } from "./json";

interface Props {
  value: Json;
  /** The original text, for the copy button. */
  text?: string;
  /** Names the value for the copy button. */
  what: string;
  /** How many levels start expanded. */
  open?: number;
  /** Draws a frame around the tree. */
  framed?: boolean;
}

/** A JSON value as a collapsible tree. Large levels load in parts. */
export function JsonTree({ value, text, what, open = 2, framed = true }: Props) {
  return (
    <div className={classes.root} data-framed={framed || undefined}>
      <div className={classes.copy}>
        <CopyButton value={text ?? (() => writeJson(value, 2))} what={what} />
      </div>
      <Node name={null} value={value} open={open} />
    </div>
  );
}

const PART = 100;
const MAX_CHARACTERS = 600;

function Node({ name, value, open }: { name: string | null; value: Json; open: number }) {
  const size = isBranch(value) ? Object.keys(value).length : 0;
  const [isOpen, setOpen] = useState(open > 0 && size <= PART);

  if (!isBranch(value) || size === 0) {
    return (
      <div className={classes.leaf}>
        <Name name={name} />
        <Scalar value={value} />
      </div>
    );
  }
  return (
    <div>
      <button
        type="button"
        className={classes.toggle}
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <span className={classes.arrow} aria-hidden="true">
          {isOpen ? "▾" : "▸"}
        </span>
        <Name name={name} />
        <span className={classes.summary}>
          {isOpen ? (Array.isArray(value) ? "[" : "{") : summarize(value)}
        </span>
      </button>
      {isOpen && <Branch value={value} open={open - 1} />}
      {isOpen && <div className={classes.close}>{Array.isArray(value) ? "]" : "}"}</div>}
    </div>
  );
}

function Branch({ value, open }: { value: JsonBranch; open: number }) {
  const [shown, setShown] = useState(PART);
  const entries = Object.entries(value);
  return (
    <div className={classes.branch}>
      {entries.slice(0, shown).map(([key, item]) => (
        <Node key={key} name={key} value={item} open={open} />
      ))}
      {entries.length > shown && (
        <button type="button" className={classes.more} onClick={() => setShown(shown + PART)}>
          {entries.length - shown} more
        </button>
      )}
    </div>
  );
}

function Name({ name }: { name: string | null }) {
  return name === null ? null : <span className={classes.name}>{name}: </span>;
}

function Scalar({ value }: { value: Json }) {
  const [isExpanded, setExpanded] = useState(false);
  const words = use(SearchWords);
  if (typeof value !== "string") {
    return (
      <span className={classes.scalar}>
        <Highlight text={Array.isArray(value) ? "[]" : writeJson(value)} words={words} />
      </span>
    );
  }
  const cut = !isExpanded && value.length > MAX_CHARACTERS;
  return (
    <span className={classes.string}>
      <span className={classes.quote}>"</span>
      <Highlight text={cut ? value.slice(0, MAX_CHARACTERS) : value} words={words} />
      {!cut && <span className={classes.quote}>"</span>}
      {cut && (
        <button type="button" className={classes.more} onClick={() => setExpanded(true)}>
          … {value.length - MAX_CHARACTERS} more characters
        </button>
      )}
    </span>
  );
}
