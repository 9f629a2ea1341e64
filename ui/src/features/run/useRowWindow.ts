import { type RefObject, useEffect, useState } from "react";

/** Rows are rendered in blocks, so that most scroll events render nothing. */
const BLOCK = 5;

/**
 * The rows of equal height to render: those in view and a block at each end. At most `slots` rows are rendered at once. A row
 * uses the slot of its number modulo `slots`, and so the elements of a row that scrolled out of view.
 */
export function useRowWindow(scroller: RefObject<HTMLElement | null>, count: number, rowHeight: number) {
  const [view, setView] = useState({ first: 0, rows: 40 });
  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const update = () => {
      const first = Math.floor(element.scrollTop / rowHeight / BLOCK) * BLOCK;
      const rows = Math.ceil(element.clientHeight / rowHeight / BLOCK) * BLOCK;
      setView((known) => (known.first === first && known.rows === rows ? known : { first, rows }));
    };
    update();
    const resize = new ResizeObserver(update);
    resize.observe(element);
    element.addEventListener("scroll", update, { passive: true });
    return () => {
      resize.disconnect();
      element.removeEventListener("scroll", update);
    };
  }, [scroller, rowHeight]);
  return {
    first: Math.max(0, view.first - BLOCK),
    last: Math.min(count, view.first + view.rows + 2 * BLOCK),
    slots: view.rows + 3 * BLOCK,
  };
}
