import classes from "./CodeBlock.module.css";
import { CopyButton } from "./CopyButton";

interface Props {
  code: string;
  /** Names the code for the copy button and screen readers. */
  what: string;
  maxHeight?: number;
}

/** Code with a copy button. */
export function CodeBlock({ code, what, maxHeight }: Props) {
  return (
    <div className={classes.root}>
      <section
        className={classes.scroll}
        style={{ maxHeight }}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
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
