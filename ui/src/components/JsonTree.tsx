import { createContext, memo, use, useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { writeJson } from "@/api/json";
import { CopyButton } from "./CopyButton";
import { Highlight, SearchWords } from "./Highlight";
import { JsonSearchBox } from "./JsonSearchBox";
import classes from "./JsonTree.module.css";
import { isBranch, type Json, type JsonBranch, summarize } from "./json";
import { findInJson, firstMatch, isWorthSearching, type JsonMatch, splitByMatch } from "./jsonSearch";

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

/** What is searched for in the tree. */
const Search = createContext("");

/** A JSON value as a collapsible tree. Large levels load in parts. A large document has a search. */
export function JsonTree({ value, text, what, open = 2, framed = true }: Props) {
  const hasSearch = useMemo(() => isWorthSearching(value), [value]);
  const [search, setSearch] = useState("");
  const [position, setPosition] = useState(0);
  // Searching a large document takes longer than a key.
  const searched = useDeferredValue(search);
  const found = useMemo(() => findInJson(value, searched), [value, searched]);
  const count = found?.matches.length ?? 0;
  const at = Math.min(position, Math.max(0, count - 1));
  return (
    <div className={classes.root} data-framed={framed || undefined} data-testid="json">
      {hasSearch && (
        <JsonSearchBox
          what={what}
          text={search}
          onText={(next) => {
            setSearch(next);
            setPosition(0);
          }}
          found={found}
          at={at}
          onStep={(step) => count > 0 && setPosition((at + step + count) % count)}
        />
      )}
      <div className={classes.copy}>
        <CopyButton value={text ?? (() => writeJson(value, 2))} what={what} />
      </div>
      <div className={classes.tree}>
        <Search value={searched}>
          <Node name={null} value={value} open={open} depth={0} current={found?.matches[at]} />
        </Search>
      </div>
    </div>
  );
}

const PART = 100;
const MAX_CHARACTERS = 600;
/** How much is shown around a match in the hidden part of a text. */
const AROUND = 100;

interface NodeProps {
  name: string | null;
  value: Json;
  open: number;
  depth: number;
  /** The current match of the search, if it is here or below. */
  current: JsonMatch | undefined;
}

const Node = memo(function Node({ name, value, open, depth, current }: NodeProps) {
  const size = isBranch(value) ? Object.keys(value).length : 0;
  const [isOpen, setOpen] = useState(open > 0 && size <= PART);
  const [shown, setShown] = useState<JsonMatch>();
  const isMatch = current?.path.length === depth;
  const line = useRef<HTMLElement>(null);
  // Opens what is above a new match. The reader may close it again.
  if (current !== shown) {
    setShown(current);
    if (current && !isMatch) setOpen(true);
  }
  useEffect(() => {
    if (current && isMatch) line.current?.scrollIntoView({ block: "nearest" });
  }, [current, isMatch]);

  if (!isBranch(value) || size === 0) {
    return (
      <div
        ref={line as React.RefObject<HTMLDivElement | null>}
        className={classes.leaf}
        data-current={isMatch || undefined}
      >
        <Name name={name} />
        <Scalar value={value} isCurrent={isMatch && current.where === "value"} />
      </div>
    );
  }
  return (
    <div>
      <button
        ref={line as React.RefObject<HTMLButtonElement | null>}
        type="button"
        className={classes.toggle}
        data-current={isMatch || undefined}
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
      {isOpen && (
        <Branch value={value} open={open - 1} depth={depth} current={isMatch ? undefined : current} />
      )}
      {isOpen && <div className={classes.close}>{Array.isArray(value) ? "]" : "}"}</div>}
    </div>
  );
});

interface BranchProps {
  value: JsonBranch;
  open: number;
  depth: number;
  current: JsonMatch | undefined;
}

function Branch({ value, open, depth, current }: BranchProps) {
  const entries = useMemo(() => Object.entries(value), [value]);
  // The numbers of the parts that are shown, in order.
  const [parts, setParts] = useState<readonly number[]>([0]);
  const key = current?.path[depth];
  const wanted = useMemo(
    () => (key === undefined ? -1 : Math.floor(entries.findIndex(([name]) => name === key) / PART)),
    [entries, key],
  );
  const show = (part: number) => setParts([...parts, part].sort((a, b) => a - b));
  if (wanted >= 0 && !parts.includes(wanted)) show(wanted);
  const last = parts.at(-1) ?? 0;
  const more = (from: number, to: number) =>
    to > from && (
      <button key={`from ${from}`} type="button" className={classes.more} onClick={() => show(from / PART)}>
        {to - from} more
      </button>
    );
  return (
    <div className={classes.branch}>
      {parts.map((part, index) => [
        index > 0 && more(((parts[index - 1] as number) + 1) * PART, part * PART),
        ...entries
          .slice(part * PART, (part + 1) * PART)
          .map(([name, item]) => (
            <Node
              key={`at ${name}`}
              name={name}
              value={item}
              open={open}
              depth={depth + 1}
              current={name === key ? current : undefined}
            />
          )),
      ])}
      {more((last + 1) * PART, entries.length)}
    </div>
  );
}

function Name({ name }: { name: string | null }) {
  if (name === null) return null;
  return (
    <span className={classes.name}>
      <bdi>
        <Marked text={name} />
      </bdi>
      :{" "}
    </span>
  );
}

/** Text beyond this many characters is not marked: it would block the page. */
const MAX_MARKED = 60_000;

/** A text with what is searched for highlighted, or else the words that found the run. */
function Marked({ text, isValue = false }: { text: string; isValue?: boolean }) {
  const search = use(Search);
  const words = use(SearchWords);
  if (search === "") return isValue ? <Highlight text={text} words={words} /> : text;
  let at = 0;
  return [
    ...splitByMatch(text.slice(0, MAX_MARKED), search).map((part) => {
      const key = at;
      at += part.text.length;
      return part.isHit ? <mark key={key}>{part.text}</mark> : part.text;
    }),
    text.slice(MAX_MARKED),
  ];
}

function Scalar({ value, isCurrent }: { value: Json; isCurrent: boolean }) {
  const [isExpanded, setExpanded] = useState(false);
  const search = use(Search);
  if (typeof value !== "string") {
    return (
      <span className={classes.scalar}>
        <Marked text={isBranch(value) ? (Array.isArray(value) ? "[]" : "{}") : writeJson(value)} isValue />
      </span>
    );
  }
  const cut = !isExpanded && value.length > MAX_CHARACTERS;
  const match = cut && isCurrent ? firstMatch(value, search) : -1;
  const from = Math.max(MAX_CHARACTERS, match - AROUND);
  return (
    <span className={classes.string} dir="auto">
      <span className={classes.quote}>"</span>
      <Marked text={cut ? value.slice(0, MAX_CHARACTERS) : value} isValue />
      {!cut && <span className={classes.quote}>"</span>}
      {match + search.length > MAX_CHARACTERS && (
        <span className={classes.around}>
          {" … "}
          <Marked text={value.slice(from, match + search.length + AROUND)} isValue />
        </span>
      )}
      {cut && (
        <button type="button" className={classes.more} onClick={() => setExpanded(true)}>
          {" "}
          … {value.length - MAX_CHARACTERS} more characters
        </button>
      )}
    </span>
  );
}
