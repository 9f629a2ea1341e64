import { use } from "react";
import type { SpanError } from "@/api/types";
import { CodeBlock } from "@/components/CodeBlock";
import { CopyButton } from "@/components/CopyButton";
import { formatBytes } from "@/components/format";
import { Highlight, SearchWords } from "@/components/Highlight";
import classes from "./SpanDetail.module.css";

/** The recorded error of a span: type, message and stack. */
export function ErrorPanel({ error }: { error: SpanError }) {
  const words = use(SearchWords);
  const whole = [[error.type, error.message].filter(Boolean).join(": "), error.stack]
    .filter(Boolean)
    .join("\n");
  return (
    <section className={classes.error} aria-label="Error" data-testid="span-error">
      <div className={classes.errorType}>
        <bdi>{error.type || "Error of unknown type"}</bdi>
        <CopyButton value={whole} what="error" />
      </div>
      {error.message && (
        <p className={classes.errorMessage} dir="auto">
          <Highlight text={error.message} words={words} />
        </p>
      )}
      {error.stack && (
        <details className={classes.stack} open={error.stack.length < 1500}>
          <summary>Stack ({formatBytes(error.stack.length)})</summary>
          <CodeBlock code={error.stack} what="stack" maxHeight={320} />
        </details>
      )}
    </section>
  );
}
