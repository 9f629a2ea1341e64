const WORD = /[\p{L}\p{N}]+/gu;

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(WORD) ?? [];
}

/**
 * The terms of a search, split as the API does: words, and phrases in double quotes. The last phrase may lack its closing
 * quote.
 */
export function searchWords(search: string): string[] {
  const terms = search
    .split('"')
    .flatMap((part, i) => (i % 2 === 1 ? [wordsOf(part).join(" ")] : wordsOf(part)));
  return [...new Set(terms)].filter((term) => term !== "");
}

interface Part {
  text: string;
  isHit: boolean;
}

/** Splits a text into parts that match a term and parts that don't. Whole words, case-insensitive. */
export function markWords(text: string, words: readonly string[]): Part[] {
  const found = [...text.matchAll(WORD)].map((match) => ({
    word: match[0].toLowerCase(),
    start: match.index,
    end: match.index + match[0].length,
  }));
  const parts: Part[] = [];
  const add = (piece: string, isHit: boolean) => {
    const last = parts.at(-1);
    if (last && last.isHit === isHit) last.text += piece;
    else if (piece !== "") parts.push({ text: piece, isHit });
  };
  let at = 0;
  found.forEach(({ start }, i) => {
    for (const term of words) {
      const phrase = term.split(" ");
      const end = found[i + phrase.length - 1]?.end;
      if (end === undefined || end <= at || phrase.some((word, n) => found[i + n]?.word !== word)) continue;
      add(text.slice(at, Math.max(at, start)), false);
      add(text.slice(Math.max(at, start), end), true);
      at = end;
    }
  });
  add(text.slice(at), false);
  return parts;
}

/** Whether a text contains a term of the search. */
export function hasHit(text: string, words: readonly string[]): boolean {
  return words.length > 0 && markWords(text, words).some((part) => part.isHit);
}

/** How many characters may precede the first hit in a narrow column. */
const MAX_LEAD = 10;

/** A text for a narrow column, which cuts its end: starts at the first hit if that comes late. */
export function fromFirstHit(text: string, words: readonly string[]): string {
  const [lead, hit] = markWords(text, words);
  if (!lead || lead.isHit || !hit || lead.text.length <= MAX_LEAD) return text;
  return `… ${text.slice(lead.text.length)}`;
}
