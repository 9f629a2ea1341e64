/** A piece of a sentence, and where it begins. */
interface Part {
  at: number;
  part: string;
  isName: boolean;
}

/** Text in a script that is written from right to left. */
const RIGHT_TO_LEFT =
  /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Bidi_Control}]/u;

/** A text in pieces, with the names that are written from right to left on their own. The longest name counts. */
export function isolatedParts(text: string, names: readonly string[]): Part[] {
  const sought = [...new Set(names)]
    .filter((name) => RIGHT_TO_LEFT.test(name))
    .sort((a, b) => b.length - a.length);
  const parts: Part[] = [];
  let start = 0;
  for (let at = 0; at < text.length; ) {
    const name = sought.find((one) => text.startsWith(one, at));
    if (name === undefined) {
      at += 1;
      continue;
    }
    if (at > start) parts.push({ at: start, part: text.slice(start, at), isName: false });
    parts.push({ at, part: name, isName: true });
    at += name.length;
    start = at;
  }
  if (start < text.length) parts.push({ at: start, part: text.slice(start), isName: false });
  return parts;
}
