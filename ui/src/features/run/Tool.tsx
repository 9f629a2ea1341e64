import type { Span } from "@/api/types";
import { CopyButton } from "@/components/CopyButton";
import { Payload } from "./Payload";
import classes from "./SpanDetail.module.css";

/** A tool call: name, arguments and result. */
export function Tool({ tool }: { tool: NonNullable<Span["tool"]> }) {
  return (
    <>
      <div className={classes.subtitle}>
        <span>Tool</span>
        <code>
          <bdi>{tool.name ?? "unnamed"}</bdi>
        </code>
        {tool.call_id && (
          <>
            <span className={classes.callId} title={tool.call_id}>
              {tool.call_id}
            </span>
            <CopyButton value={tool.call_id} what="call id" />
          </>
        )}
      </div>
      <Payload title="Arguments" text={tool.arguments} plain />
      <Payload title="Result" text={tool.result} plain />
    </>
  );
}
