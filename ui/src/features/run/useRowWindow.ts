import { type RefObject, useEffect, useState } from "react";

/** Rows are drawn in blocks, so that most steps of a scroll draw nothing anew. */
const BLOCK = 5;

/**
 * Which rows of equal height to draw: those in view and a block at each end. No more than `slots` are drawn at once: a row
 * that keeps to the slot of its number, modulo slots, takes over the elements of one that has left.
 */
export function useRowWindow(scroller: RefObject<HTMLElement | null>, count: number, rowHeight: number) {
  const [view, setView] = useState({ first: 0, rows: 40 });
  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const look = () => {
      const first = Math.floor(element.scrollTop / rowHeight / BLOCK) * BLOCK;
      const rows = Math.ceil(element.clientHeight / rowHeight / BLOCK) * BLOCK;
      setView((known) => (known.first === first && known.rows === rows ? known : { first, rows }));
    };
    look();
    const resize = new ResizeObserver(look);
    resize.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      resize.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, [scroller, rowHeight]);
  return {
    first: Math.max(0, view.first - BLOCK),
    last: Math.min(count, view.first + view.rows + 2 * BLOCK),
    slots: view.rows + 3 * BLOCK,
  };
}
