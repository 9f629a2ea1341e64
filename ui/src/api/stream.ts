import { useEffect, useRef } from "react";
import { client, unwrap } from "./client";
import { queryText } from "./query";
import { noteAnswer, noteLoss } from "./requests";
import { RUN_PAGE } from "./runs";
import { sessionHeaders } from "./session";
import { EventStreamParser } from "./sse";
import type { Run, RunFilter } from "./types";

/** Runs that arrive within this time are reported together. */
const BATCH_MS = 400;
/** How long to wait before reconnecting after a lost connection, and after a refusal or the end of the stream. */
const RETRY_MS = 3_000;
const RECONNECT_MS = 15_000;
/** How long the server remembers what a position has missed, less some time for the way. */
const MEMORY_MS = 9 * 60_000;
/** The server sends a comment every 15 s. A stream that is silent for longer is lost. */
const SILENT_MS = 35_000;

interface Listener {
  /** The position of the stream before the list was read; null if unknown. */
  position: number | null;
  /** Runs that appeared or changed. */
  onRuns: (runs: Run[]) => void;
  /** Too many runs changed, or the store is away, which the list then says: reload it. */
  onReset: () => void;
}

/**
 * GET /v1/runs/stream while `live`: the filter's runs as they appear or change since the list was read.
 * A hidden tab closes its stream, because a browser allows few connections to one server across all tabs.
 * It is not an EventSource, because that can't send the session's secret or begin at a position, and doesn't notice a server that
 * hangs.
 */
export function useRunStream(filter: RunFilter, live: boolean, listener: Listener): void {
  const latest = useRef(listener);
  useEffect(() => {
    latest.current = listener;
  });
  useEffect(() => {
    if (!live) return;
    const abort = new AbortController();
    let connection: AbortController | undefined;
    let reconnect: ReturnType<typeof setTimeout> | undefined;
    let flush: ReturnType<typeof setTimeout> | undefined;
    let pending: Run[] = [];
    let last = latest.current.position;
    let lastAt = Date.now();

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
      connection?.abort();
      connection = undefined;
      clearTimeout(reconnect);
    };
    /** The newest page, for runs that changed before the stream began and that it doesn't remember. */
    const readPage = () =>
      unwrap(
        client.GET("/v1/runs", { params: { query: { ...filter, limit: RUN_PAGE } }, signal: abort.signal }),
      ).then(
        (page) => report(page.data),
        () => {}, // The list reports its own errors.
      );
    const open = async () => {
      close();
      if (document.hidden) return;
      const opened = new AbortController();
      connection = opened;
      const position = last !== null && Date.now() - lastAt < MEMORY_MS ? last : null;
      let wait = RETRY_MS;
      let watch: ReturnType<typeof setTimeout> | undefined;
      const listen = () => {
        clearTimeout(watch);
        watch = setTimeout(() => opened.abort(), SILENT_MS);
      };
      try {
        listen();
        const response = await fetch(`/v1/runs/stream?${queryText(filter)}`, {
          headers: {
            ...sessionHeaders(),
            Accept: "text/event-stream",
            ...(position !== null && { "Last-Event-ID": String(position) }),
          },
          signal: opened.signal,
        });
        if (!response.ok || !response.body) {
          wait = RECONNECT_MS;
          if (response.status === 503) latest.current.onReset();
        } else {
          const parser = new EventStreamParser();
          const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
          for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
            listen();
            noteAnswer();
            for (const { event, data, id } of parser.push(piece.value)) {
              if (id !== undefined) last = Number(id);
              lastAt = Date.now();
              if (event === "ready" && position === null) void readPage();
              else if (event === "run") report([JSON.parse(data) as Run]);
              else if (event === "reset") latest.current.onReset();
              else if (event === "end") {
                wait = RECONNECT_MS;
                latest.current.onReset();
              }
            }
          }
        }
      } catch {
        // Lost, or too long silent: whether the server is away, others find out.
        if (connection === opened) noteLoss();
      }
      clearTimeout(watch);
      if (connection === opened) reconnect = setTimeout(open, wait);
    };
    const onVisibility = () => (document.hidden ? close() : void open());
    void open();
    document.addEventListener("visibilitychange", onVisibility);
    return () => {
      document.removeEventListener("visibilitychange", onVisibility);
      abort.abort();
      close();
      clearTimeout(flush);
    };
  }, [filter, live]);
}
