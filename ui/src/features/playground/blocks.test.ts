import { describe, expect, it } from "vitest";
import { blocksOf } from "./blocks";

const paragraph = `${"word ".repeat(100).trim()}.`;

describe("blocksOf", () => {
  it("keeps the text", () => {
    const text = Array.from({ length: 40 }, () => paragraph).join("\n\n");
    const blocks = blocksOf(text);
    expect(blocks.join("\n")).toBe(text);
    expect(blocks.length).toBeGreaterThan(5);
  });

  it("splits no code, list or quote", () => {
    const code = ["```", ...Array.from({ length: 60 }, () => `${paragraph}\n`), "```"].join("\n");
    expect(blocksOf(code)).toHaveLength(1);
    const list = Array.from(
      { length: 20 },
      (_, index) => `${index + 1}. ${paragraph}\n\n   ${paragraph}`,
    ).join("\n\n");
    expect(blocksOf(list)).toHaveLength(1);
    expect(blocksOf(`${list}\n\nAfter it`)).toHaveLength(2);
    const quote = Array.from({ length: 20 }, () => `> ${paragraph}`).join("\n\n");
    expect(blocksOf(quote)).toHaveLength(1);
  });

  it("ends code at its own fence", () => {
    const text = `~~~~\n\`\`\`\n${paragraph}\n\n${paragraph}\n\n${paragraph}\n\n${paragraph}\n~~~~\n\nAfter it`;
    expect(blocksOf(text)).toHaveLength(2);
  });
});
