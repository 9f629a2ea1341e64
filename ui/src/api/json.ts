/** A number that a JavaScript number can't hold exactly, such as a 19-digit id. Keeps the original text. */
export class LongNumber {
  constructor(readonly text: string) {}

  toString(): string {
    return this.text;
  }

  toJSON(): string {
    return MARK + this.text;
  }
}

// Marks such a number inside a JSON string. It is random, so recorded text can't contain it.
const MARK = `number ${Math.random()} `;

/** Like JSON.parse, but returns a LongNumber for each number that would lose digits. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const marked = MAYBE_LONG.test(text) ? markLong(text) : text;
  if (marked === text) return value;
  return JSON.parse(marked, (_, item) =>
    typeof item === "string" && item.startsWith(MARK) ? new LongNumber(item.slice(MARK.length)) : item,
  );
}

/** Like JSON.stringify, but writes each LongNumber with all its digits. */
export function writeJson(value: unknown, indent?: number): string {
  return (JSON.stringify(value, null, indent) ?? "").replaceAll(MARKED, "$1");
}

const MARKED = new RegExp(`"${MARK}([^"]*)"`, "g");
/** Numbers with fewer digits or shorter exponents never lose any. */
const MAYBE_LONG = /[\d.]{16}|\d[eE][+-]?\d{3}/;

/** The JSON with every number that would lose digits replaced by a marked string. */
function markLong(text: string): string {
  const token = /"|-?\d[\d.eE+-]*/g;
  let marked = "";
  let copied = 0;
  for (let match = token.exec(text); match; match = token.exec(text)) {
    const [found] = match;
    if (found === '"') token.lastIndex = stringEnd(text, token.lastIndex);
    else if (!isExact(found)) {
      marked += `${text.slice(copied, match.index)}"${MARK}${found}"`;
      copied = token.lastIndex;
    }
  }
  return marked + text.slice(copied);
}

/** The index after the closing quote of the string that contains `from`. */
function stringEnd(text: string, from: number): number {
  for (let quote = text.indexOf('"', from); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let escapes = quote;
    while (escapes > from && text[escapes - 1] === "\\") escapes--;
    if ((quote - escapes) % 2 === 0) return quote + 1;
  }
  return text.length;
}

/** Whether a number keeps its value when JavaScript parses and prints it. */
function isExact(number: string): boolean {
  return decimal(number) === decimal(String(Number(number)));
}

/** A normal form without leading and trailing zeros: 1.50e3 and 1500 are equal. */
function decimal(number: string): string {
  const [mantissa = "", exponent = "0"] = number.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.replace("-", "").split(".");
  const digits = (whole + fraction).replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return "0";
  const power = Number(exponent) - fraction.length + (digits.length - significant.length);
  return `${number.startsWith("-") ? "-" : ""}${significant}e${power}`;
}
