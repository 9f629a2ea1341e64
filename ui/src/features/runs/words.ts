/** The words of a search as the API splits them: at anything but letters and digits. */
export function searchWords(search: string): string[] {
  return [...new Set(search.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])];
}

interface Part {
  text: string;
  isHit: boolean;
}

/** Cuts a text where words of a search stand in it, whole and in either case. */
export function markWords(text: string, words: readonly string[]): Part[] {
  const parts: Part[] = [];
  const add = (piece: string, isHit: boolean) => {
    const last = parts.at(-1);
    if (last && last.isHit === isHit) last.text += piece;
    else if (piece !== "") parts.push({ text: piece, isHit });
  };
  let end = 0;
  for (const match of text.matchAll(/[\p{L}\p{N}]+/gu)) {
    add(text.slice(end, match.index), false);
    end = match.index + match[0].length;
    add(match[0], words.includes(match[0].toLowerCase()));
  }
  add(text.slice(end), false);
  return parts;
}
