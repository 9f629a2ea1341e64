/** An event of a stream of server-sent events. */
export interface ServerSentEvent {
  event: string;
  data: string;
  /** Missing if the event has none. */
  id?: string;
}

/**
 * Reads a stream of server-sent events that arrives in pieces. EventSource only sends GET. Retry times are ignored.
 */
export class EventStreamParser {
  private rest = "";
  private event = "";
  private data: string[] = [];
  private id: string | undefined;
  private isStart = true;

  /** The events that a piece of text completes. */
  push(piece: string): ServerSentEvent[] {
    const text = this.rest + piece;
    const events: ServerSentEvent[] = [];
    let at = 0;
    if (this.isStart && text !== "") {
      this.isStart = false;
      if (text.startsWith("\uFEFF")) at = 1;
    }
    // Only what is new can have an end of a line, or the \n of a \r\n that was cut.
    const ends = /\r\n|\n|\r/g;
    ends.lastIndex = Math.max(at, this.rest.length - 1);
    for (let end = ends.exec(text); end; end = ends.exec(text)) {
      // A \r at the end may be the first half of \r\n.
      if (end[0] === "\r" && ends.lastIndex === text.length) break;
      const event = this.line(text.slice(at, end.index));
      if (event) events.push(event);
      at = ends.lastIndex;
    }
    this.rest = text.slice(at);
    return events;
  }

  private line(line: string): ServerSentEvent | undefined {
    if (line === "") {
      const event: ServerSentEvent = { event: this.event || "message", data: this.data.join("\n") };
      if (this.id !== undefined) event.id = this.id;
      const isComplete = this.data.length > 0;
      this.event = "";
      this.data = [];
      this.id = undefined;
      return isComplete ? event : undefined;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.event = value;
    if (field === "data") this.data.push(value);
    if (field === "id") this.id = value;
    return undefined;
  }
}
