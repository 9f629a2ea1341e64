import { createContext } from "react";
import { markWords } from "./words";

/** The words of the search that led here: recorded texts mark them. */
export const SearchWords = createContext<readonly string[]>([]);

/** Behind so many letters nothing is marked: it would hold up the page. */
const MARK_LIMIT = 60_000;

/** A text with the words of a search marked. */
export function Marked({ text, words }: { text: string; words: readonly string[] }) {
  if (words.length === 0) return text;
  let at = 0;
  const marked = markWords(text.slice(0, MARK_LIMIT), words).map((part) => {
    const key = at;
    at += part.text.length;
    return part.isHit ? <mark key={key}>{part.text}</mark> : part.text;
  });
  return [...marked, text.slice(MARK_LIMIT)];
}
