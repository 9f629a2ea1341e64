/** A number that JavaScript's numbers would change, as it was written: an id of 19 digits. */
export class LongNumber {
  constructor(readonly text: string) {}

  toString(): string {
    return this.text;
  }

  toJSON(): string {
    return MARK + this.text;
  }
}

// Stands before such a number where JSON has room for a text only. No text that was recorded can hold it: it is another
// one each time that the page is loaded.
const MARK = `number ${Math.random()} `;

/** Reads JSON as JSON.parse does, but for the numbers that would not be what was written. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const marked = MAYBE_LONG.test(text) ? markLong(text) : text;
  if (marked === text) return value;
  return JSON.parse(marked, (_, item) =>
    typeof item === "string" && item.startsWith(MARK) ? new LongNumber(item.slice(MARK.length)) : item,
  );
}

/** Writes JSON as JSON.stringify does, and long numbers as they were. */
export function writeJson(value: unknown, indent?: number): string {
  return (JSON.stringify(value, null, indent) ?? "").replaceAll(MARKED, "$1");
}

const MARKED = new RegExp(`"${MARK}([^"]*)"`, "g");
/** Fewer digits, and exponents of two, always survive. */
const MAYBE_LONG = /[\d.]{16}|\d[eE][+-]?\d{3}/;

/** The JSON with the numbers that would not survive as marked texts. */
function markLong(text: string): string {
  const token = /"|-?\d[\d.eE+-]*/g;
  let marked = "";
  let copied = 0;
  for (let match = token.exec(text); match; match = token.exec(text)) {
    const [word] = match;
    if (word === '"') token.lastIndex = stringEnd(text, token.lastIndex);
    else if (!survives(word)) {
      marked += `${text.slice(copied, match.index)}"${MARK}${word}"`;
      copied = token.lastIndex;
    }
  }
  return marked + text.slice(copied);
}

/** The place behind the quote that ends a string, from a place within it. */
function stringEnd(text: string, from: number): number {
  for (let quote = text.indexOf('"', from); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let escapes = quote;
    while (escapes > from && text[escapes - 1] === "\\") escapes--;
    if ((quote - escapes) % 2 === 0) return quote + 1;
  }
  return text.length;
}

/** Whether a number is the same after JavaScript has read and written it. */
function survives(number: string): boolean {
  return decimal(number) === decimal(String(Number(number)));
}

/** A number by its digits without zeros at the ends, and where its point stands: 1.50e3 and 1500 are the same. */
function decimal(number: string): string {
  const [mantissa = "", exponent = "0"] = number.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.replace("-", "").split(".");
  const digits = (whole + fraction).replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return "0";
  const power = Number(exponent) - fraction.length + (digits.length - significant.length);
  return `${number.startsWith("-") ? "-" : ""}${significant}e${power}`;
}
