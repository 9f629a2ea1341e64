import { use } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { SearchWords } from "./Highlight";
import classes from "./Markdown.module.css";
import { markWords } from "./words";

const components: Components = {
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  ),
  // Loading an image would send a request elsewhere, so only its description is shown.
  img: ({ src, alt }) => (
    <span className={classes.image}>
      image not loaded: {alt || "no description"}
      {typeof src === "string" && ` (${src.slice(0, 200)})`}
    </span>
  ),
};

const plugins = [remarkGfm];

/** A node of the parsed Markdown. */
interface Node {
  type: string;
  value?: string;
  tagName?: string;
  properties?: object;
  children?: Node[];
}

/** The elements that have a direction of their own. Code is read from left to right. */
const BLOCKS = new Set(["p", "li", "h1", "h2", "h3", "h4", "h5", "h6", "td", "th", "summary"]);

/** Gives each block the direction of its text. */
function directing() {
  return function direct(node: Node) {
    if (node.tagName && BLOCKS.has(node.tagName)) node.properties = { ...node.properties, dir: "auto" };
    node.children?.forEach(direct);
  };
}

/** Highlights words in the text nodes of a tree. */
function marking(words: readonly string[]) {
  return function mark(node: Node) {
    node.children = node.children?.flatMap((child) => {
      mark(child);
      if (child.type !== "text" || child.value === undefined) return [child];
      return markWords(child.value, words).map(({ text, isHit }): Node => {
        const piece = { type: "text", value: text };
        return isHit ? { type: "element", tagName: "mark", properties: {}, children: [piece] } : piece;
      });
    });
  };
}

/** Untrusted Markdown: HTML stays text, links other than http(s) and mail are dropped, nothing is fetched. */
export default function Markdown({ text }: { text: string }) {
  const words = use(SearchWords);
  return (
    <div className={classes.root}>
      <ReactMarkdown
        remarkPlugins={plugins}
        rehypePlugins={words.length > 0 ? [directing, [marking, words]] : [directing]}
        components={components}
      >
        {text}
      </ReactMarkdown>
    </div>
  );
}
