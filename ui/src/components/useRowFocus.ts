import { useRef } from "react";
import { useKeys } from "./useKeys";

/** The j and k keys move the focus between the elements of a list that are marked with `data-row-focus`, one per row. */
export function useRowFocus() {
  const list = useRef<HTMLDivElement>(null);
  const move = (by: number) => {
    const targets = [...(list.current?.querySelectorAll<HTMLElement>("[data-row-focus]") ?? [])];
    const current = targets.indexOf(document.activeElement as HTMLElement);
    targets[current < 0 ? 0 : Math.min(targets.length - 1, Math.max(0, current + by))]?.focus();
  };
  useKeys({ j: () => move(1), k: () => move(-1) });
  return list;
}
