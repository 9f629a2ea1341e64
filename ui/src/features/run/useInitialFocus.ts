import { type RefObject, useEffect } from "react";

/** Focuses a new view, so that its keys work, unless something else on the page has the focus. */
export function useInitialFocus(element: RefObject<HTMLElement | null>, isThere = true): void {
  useEffect(() => {
    if (!isThere || document.activeElement?.closest("main,[role=dialog],[role=menu]")) return;
    element.current?.focus({ preventScroll: true });
  }, [element, isThere]);
}
