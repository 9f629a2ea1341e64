const WORD = /[\p{L}\p{N}]+/gu;

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(WORD) ?? [];
}

/**
 * What a search looks for, as the API splits it: words, and phrases in double quotes as words with one space between. The
 * last phrase may lack its closing quote.
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

/** Cuts a text where words and phrases of a search stand in it, whole and in either case. */
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

/** Whether a word or phrase of a search stands in a text. */
export function hasHit(text: string, words: readonly string[]): boolean {
  return words.length > 0 && markWords(text, words).some((part) => part.isHit);
}

/** How many letters may stand before the first hit in a narrow column. */
const LEAD = 10;

/** A text for a narrow column, from its first hit on where that comes late: a column cuts what is behind its width. */
export function fromFirstHit(text: string, words: readonly string[]): string {
  const [lead, hit] = markWords(text, words);
  if (!lead || lead.isHit || !hit || lead.text.length <= LEAD) return text;
  return `… ${text.slice(lead.text.length)}`;
}
