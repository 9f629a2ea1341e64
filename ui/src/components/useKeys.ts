import { useEffect, useRef } from "react";

/** What each key does; by the `key` of the keyboard event: "j", "Enter", "?". */
export type KeyMap = Record<string, (event: KeyboardEvent) => void>;

/** Single keys for the whole page; silent while someone types, in dialogs and menus, and with modifiers. */
export function useKeys(map: KeyMap): void {
  const current = useRef(map);
  useEffect(() => {
    current.current = map;
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey || isBusy(event.target))
        return;
      // What these keys do to what has the focus goes first.
      if (event.target instanceof Element) {
        if (event.key === "Enter" && event.target.closest("a,button")) return;
        if (event.key === " " && event.target.closest("button,input,summary")) return;
      }
      const act = current.current[event.key];
      if (!act) return;
      event.preventDefault();
      act(event);
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
}

function isBusy(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable) return true;
  // Nobody types into a checkbox or a choice.
  const isTicked = target instanceof HTMLInputElement && /^(checkbox|radio)$/.test(target.type);
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) && !isTicked) return true;
  return target.closest("[role=dialog],[role=menu],[role=listbox]") !== null;
}
