import { useEffect, useRef } from "react";
import { client, unwrap } from "./client";
import { queryText } from "./query";
import { RUN_PAGE } from "./runs";
import type { Run, RunFilter } from "./types";

/** Runs that arrive within this time are reported together. */
const BATCH_MS = 400;
/** How long to wait before reconnecting after a refusal or the end of the stream. */
const RECONNECT_MS = 15_000;

interface Listener {
  /** Runs that appeared or changed. */
  onRuns: (runs: Run[]) => void;
  /** Too many runs changed: reload the list. */
  onReset: () => void;
}

/**
 * GET /v1/runs/stream while `live`: the filter's runs as they appear or change, starting with the newest page.
 * A hidden tab closes its stream, because a browser allows few connections to one server across all tabs.
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
    let reconnect: ReturnType<typeof setTimeout> | undefined;
    let flush: ReturnType<typeof setTimeout> | undefined;
    let pending: Run[] = [];

    const report = (runs: Run[]) => {
      pending.push(...runs);
      flush ??= setTimeout(() => {
        flush = undefined;
        const runs = pending;
        pending = [];
        latest.current.onRuns(runs);
      }, BATCH_MS);
    };
    const close = () => {
      source?.close();
      source = undefined;
      clearTimeout(reconnect);
    };
    const reopenLater = () => {
      close();
      reconnect = setTimeout(open, RECONNECT_MS);
    };
    function open() {
      close();
      if (document.hidden) return;
      source = new EventSource(`/v1/runs/stream?${queryText(filter)}`);
      // Runs that arrived after the list was loaded and before the stream opened.
      source.addEventListener("ready", () => {
        unwrap(
          client.GET("/v1/runs", { params: { query: { ...filter, limit: RUN_PAGE } }, signal: abort.signal }),
        ).then(
          (page) => report(page.data),
          () => {}, // The list reports its own errors.
        );
      });
      source.addEventListener("run", (event) => report([JSON.parse(event.data) as Run]));
      source.addEventListener("reset", () => latest.current.onReset());
      source.addEventListener("end", reopenLater);
      source.onerror = () => {
        // The browser reconnects after a lost connection, but not after a refused one.
        if (source?.readyState === EventSource.CLOSED) reopenLater();
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
