/** A block of Markdown is drawn at once. This many characters take a few milliseconds. */
const BLOCK = 1_500;

/**
 * Splits Markdown where that doesn't change what it shows: at empty lines outside of code, before a line that begins something
 * new. A long block stays whole.
 */
export function blocksOf(text: string): string[] {
  const blocks: string[] = [];
  let block: string[] = [];
  let size = 0;
  let fence: string | null = null;
  let wasEmpty = false;
  for (const line of text.split("\n")) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (size > BLOCK && fence === null && wasEmpty && beginsNew(line)) {
      blocks.push(block.join("\n"));
      block = [];
      size = 0;
    }
    if (mark && fence === null) fence = mark;
    else if (mark && fence !== null && mark.startsWith(fence)) fence = null;
    block.push(line);
    size += line.length + 1;
    wasEmpty = line.trim() === "";
  }
  if (block.length > 0) blocks.push(block.join("\n"));
  return blocks;
}

/** Whether a line after an empty one can't belong to a list or a quote above. */
function beginsNew(line: string): boolean {
  return !/^(\s|$|>|[-*+]\s|\d+[.)]\s)/.test(line);
}
