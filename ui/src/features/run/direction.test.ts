import { MantineProvider } from "@mantine/core";
import { createElement, type ReactNode } from "react";
import { renderToString } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { JsonTree } from "@/components/JsonTree";
import Markdown from "@/components/Markdown";
import { RecordedText } from "@/components/RecordedText";
import { ErrorPanel } from "./ErrorPanel";

const html = (node: ReactNode) => renderToString(createElement(MantineProvider, null, node));
const HEBREW = "שלום";

describe("recorded texts have their own direction", () => {
  it("in Markdown, without code", () => {
    const got = html(
      createElement(Markdown, {
        text: `# ${HEBREW}\n\n${HEBREW} one\n\n- ${HEBREW}\n\n\`\`\`\ncode\n\`\`\``,
      }),
    );
    for (const block of ["h1", "p", "li"]) expect(got).toContain(`<${block} dir="auto">`);
    expect(got).toContain("<pre><code>");
  });
  it("in plain text", () =>
    expect(html(createElement(RecordedText, { text: HEBREW, what: "text", plain: true }))).toMatch(
      new RegExp(`dir="auto"[^>]*>${HEBREW}`),
    ));
  it("in JSON, keys and values", () => {
    const got = html(createElement(JsonTree, { value: { [HEBREW]: "مرحبا" }, what: "value" }));
    expect(got).toContain(`<bdi>${HEBREW}</bdi>`);
    expect(got).toMatch(/dir="auto"[^>]*><span[^>]*>&quot;<\/span>مرحبا/);
  });
  it("in errors", () =>
    expect(html(createElement(ErrorPanel, { error: { type: HEBREW, message: HEBREW, stack: "" } }))).toMatch(
      new RegExp(`<bdi>${HEBREW}</bdi>.*dir="auto"[^>]*>${HEBREW}`, "s"),
    ));
});
