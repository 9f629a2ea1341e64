import { type RefObject, useEffect, useState } from "react";

/** The width of an element in pixels; 0 until it is known. */
export function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (!element.current) return;
    const resize = new ResizeObserver(([entry]) => entry && setWidth(Math.round(entry.contentRect.width)));
    resize.observe(element.current);
    return () => resize.disconnect();
  }, [element]);
  return width;
}
