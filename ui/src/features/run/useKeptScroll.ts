import { type RefObject, useLayoutEffect } from "react";
import type { Place } from "./place";

/** What the reader does to scroll. */
const INPUTS = ["wheel", "pointerdown", "keydown"] as const;

/**
 * Scrolls an element to where the reader left it, as soon as its content is that long, unless the reader scrolls first. Notes
 * where the reader scrolls to. `isReady`: the element is there.
 */
export function useKeptScroll(
  element: RefObject<HTMLElement | null>,
  { scroll }: Place,
  name: string,
  isReady = true,
): void {
  useLayoutEffect(() => {
    const scroller = element.current;
    if (!scroller || !isReady) return;
    let wanted = scroll.get(name) ?? 0;
    const restore = () => {
      if (wanted === 0) return;
      scroller.scrollTop = wanted;
      if (scroller.scrollTop >= wanted - 1) stop();
    };
    const content = new MutationObserver(restore);
    const stop = () => {
      wanted = 0;
      content.disconnect();
      for (const input of INPUTS) scroller.removeEventListener(input, stop);
    };
    const note = () => {
      if (wanted === 0) scroll.set(name, scroller.scrollTop);
    };
    if (wanted > 0) {
      content.observe(scroller, { childList: true, subtree: true, attributes: true });
      for (const input of INPUTS) scroller.addEventListener(input, stop, { passive: true });
      restore();
    }
    scroller.addEventListener("scroll", note, { passive: true });
    return () => {
      stop();
      scroller.removeEventListener("scroll", note);
    };
  }, [element, scroll, name, isReady]);
}
