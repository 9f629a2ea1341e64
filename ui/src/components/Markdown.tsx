import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import classes from "./Markdown.module.css";

const components: Components = {
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  ),
  // An image is a request to somewhere else: it is named, never loaded.
  img: ({ src, alt }) => (
    <span className={classes.image}>
      image not loaded: {alt || "no description"}
      {typeof src === "string" && ` (${src.slice(0, 200)})`}
    </span>
  ),
};

const plugins = [remarkGfm];

/** Untrusted Markdown: HTML in it stays text, addresses other than http(s) and mail are dropped, nothing is fetched. */
export default function Markdown({ text }: { text: string }) {
  return (
    <div className={classes.root}>
      <ReactMarkdown remarkPlugins={plugins} components={components}>
        {text}
      </ReactMarkdown>
    </div>
  );
}
