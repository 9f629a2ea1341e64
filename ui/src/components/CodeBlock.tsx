import classes from "./CodeBlock.module.css";
import { CopyButton } from "./CopyButton";

interface Props {
  code: string;
  /** What it is, for the copy button and screen readers. */
  what: string;
  maxHeight?: number;
}

/** Code as it is, to be copied whole. */
export function CodeBlock({ code, what, maxHeight }: Props) {
  return (
    <div className={classes.root}>
      {/* It scrolls, so it must be reachable by keyboard. */}
      <section
        className={classes.scroll}
        style={{ maxHeight }}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls takes the focus
        tabIndex={0}
        aria-label={what}
      >
        <pre className={classes.pre}>
          <code>{code}</code>
        </pre>
      </section>
      <div className={classes.copy}>
        <CopyButton value={code} what={what} />
      </div>
    </div>
  );
}
