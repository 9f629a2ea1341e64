import { type RefObject, useEffect } from "react";

/** Keys work at once in what has come up, unless the reader is somewhere else on the page already. */
export function useTakeFocus(element: RefObject<HTMLElement | null>, isThere = true): void {
  useEffect(() => {
    if (!isThere || document.activeElement?.closest("main,[role=dialog],[role=menu]")) return;
    element.current?.focus({ preventScroll: true });
  }, [element, isThere]);
}
