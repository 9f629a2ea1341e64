import type { Interval } from "./outline";

/** Where the reader is on the page of a run, besides what the address says. It changes as the reader moves. */
export interface Place {
  /** The spans whose descendants are hidden. */
  closed?: ReadonlySet<string>;
  /** The visible interval of the waterfall; undefined for the whole run. */
  shown?: Interval | undefined;
  /** How far each part is scrolled, in pixels. */
  scroll: Map<string, number>;
}

/** Older entries of the history are forgotten. */
const MAX_PLACES = 50;

/** The places of this visit by the key of the history's entry, the oldest first. */
const places = new Map<string, Place>();

/** The place that the reader left at an entry of the history; a new one for a new entry. */
export function placeAt(key: string): Place {
  return places.get(key) ?? { scroll: new Map() };
}

/** Keeps the place for the entry of the history, to be found when the reader comes back to it. */
export function keepPlace(key: string, place: Place): void {
  places.delete(key);
  places.set(key, place);
  for (const oldest of places.keys()) {
    if (places.size <= MAX_PLACES) break;
    places.delete(oldest);
  }
}
