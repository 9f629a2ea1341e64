import { type RefObject, useEffect, useLayoutEffect, useRef } from "react";
import type { Answer } from "./answer";

/** Keeps the end of a growing answer in view, until the reader scrolls up. */
export function useFollow(scroller: RefObject<HTMLElement | null>, answer: Answer | undefined): void {
  const follows = useRef(true);
  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const onScroll = () => {
      follows.current = element.scrollHeight - element.scrollTop - element.clientHeight < 40;
    };
    element.addEventListener("scroll", onScroll, { passive: true });
    return () => element.removeEventListener("scroll", onScroll);
  }, [scroller]);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element && answer && follows.current) element.scrollTop = element.scrollHeight;
  }, [answer, scroller]);
}
