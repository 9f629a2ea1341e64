import { Link } from "react-router";
import type { Span } from "@/api/types";
import { formatDuration, formatTime, parseTime } from "@/components/format";
import { JsonTree } from "@/components/JsonTree";
import type { Json } from "@/components/json";
import { useProjectId } from "@/components/useProject";
import classes from "./SpanDetail.module.css";

/** The events and links of the span. */
export function Events({ span }: { span: Span }) {
  const projectId = useProjectId();
  const start = parseTime(span.start_time);
  return (
    <>
      {span.events?.map((event, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: events have no id
        <div key={index} className={classes.event}>
          <div className={classes.eventHead}>
            <bdi>{event.name}</bdi>
            <span className={classes.eventTime} title={formatTime(event.time)}>
              +{formatDuration(Math.max(0, parseTime(event.time) - start))}
            </span>
          </div>
          {Object.keys(event.attributes).length > 0 && (
            <JsonTree value={event.attributes as Json} what="event attributes" />
          )}
        </div>
      ))}
      {span.links?.map((link) => (
        <div key={link.run_id + link.span_id} className={classes.event}>
          Linked to{" "}
          <Link to={`/p/${projectId}/runs/${link.run_id}?span=${link.span_id}`}>
            span {link.span_id} of run {link.run_id}
          </Link>
        </div>
      ))}
    </>
  );
}
