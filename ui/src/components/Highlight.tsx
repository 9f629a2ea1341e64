import { createContext } from "react";
import { markWords } from "./words";

/** The words of the search that found the run. Recorded texts highlight them. */
export const SearchWords = createContext<readonly string[]>([]);

/** Text beyond this many characters is not highlighted: it would block the page. */
const MAX_HIGHLIGHTED = 60_000;

/** A text with the words of a search highlighted. */
export function Highlight({ text, words }: { text: string; words: readonly string[] }) {
  if (words.length === 0) return text;
  let at = 0;
  const marked = markWords(text.slice(0, MAX_HIGHLIGHTED), words).map((part) => {
    const key = at;
    at += part.text.length;
    return part.isHit ? <mark key={key}>{part.text}</mark> : part.text;
  });
  return [...marked, text.slice(MAX_HIGHLIGHTED)];
}
