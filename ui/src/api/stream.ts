import { useEffect, useRef } from "react";
import { client, unwrap } from "./client";
import { queryText } from "./query";
import { RUN_PAGE, type RunFilter } from "./runs";
import type { Run } from "./types";

/** What came within it is told at once. */
const TOGETHER_MS = 400;
/** How soon a stream that was refused or has ended is asked for again. */
const AGAIN_MS = 15_000;

interface Listener {
  /** Runs that appeared or changed. */
  onRuns: (runs: Run[]) => void;
  /** More came than can be told: the list has to be loaded anew. */
  onReset: () => void;
}

/**
 * GET /v1/runs/stream while `live`: the filter's runs as they appear or change, at first those of the newest page.
 * A tab that is not seen holds no stream: browsers have few connections to a server, for all tabs together.
 */
export function useRunStream(filter: RunFilter, live: boolean, listener: Listener): void {
  const latest = useRef(listener);
  useEffect(() => {
    latest.current = listener;
  });
  useEffect(() => {
    if (!live) return;
    const abort = new AbortController();
    let source: EventSource | undefined;
    let again: ReturnType<typeof setTimeout> | undefined;
    let flush: ReturnType<typeof setTimeout> | undefined;
    let waiting: Run[] = [];

    const tell = (runs: Run[]) => {
      waiting.push(...runs);
      flush ??= setTimeout(() => {
        flush = undefined;
        const told = waiting;
        waiting = [];
        latest.current.onRuns(told);
      }, TOGETHER_MS);
    };
    const close = () => {
      source?.close();
      source = undefined;
      clearTimeout(again);
    };
    const later = () => {
      close();
      again = setTimeout(open, AGAIN_MS);
    };
    function open() {
      close();
      if (document.hidden) return;
      source = new EventSource(`/v1/runs/stream?${queryText(filter)}`);
      // What came between the list and the stream.
      source.addEventListener("ready", () => {
        unwrap(
          client.GET("/v1/runs", { params: { query: { ...filter, limit: RUN_PAGE } }, signal: abort.signal }),
        ).then(
          (page) => tell(page.data),
          () => {}, // the stream goes on, and the list says by itself what is wrong
        );
      });
      source.addEventListener("run", (event) => tell([JSON.parse(event.data) as Run]));
      source.addEventListener("reset", () => latest.current.onReset());
      source.addEventListener("end", later);
      source.onerror = () => {
        // A lost connection is taken up again by the browser; a refused one is not.
        if (source?.readyState === EventSource.CLOSED) later();
      };
    }
    const onVisibility = () => (document.hidden ? close() : open());
    open();
    document.addEventListener("visibilitychange", onVisibility);
    return () => {
      document.removeEventListener("visibilitychange", onVisibility);
      abort.abort();
      close();
      clearTimeout(flush);
    };
  }, [filter, live]);
}
