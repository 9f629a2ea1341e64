import { useEffect, useRef } from "react";

/** Actions by the `key` of the keyboard event: "j", "Enter", "?". */
export type KeyMap = Record<string, (event: KeyboardEvent) => void>;

/** Shortcuts of single keys for the whole page. Ignored while typing, in dialogs and menus, and with modifiers. */
export function useKeys(map: KeyMap): void {
  const current = useRef(map);
  useEffect(() => {
    current.current = map;
  });
  useEffect(() => {
    let hadDialog = false;
    const hasDialog = () => document.querySelector("[role=dialog]") !== null;
    const beforeKey = () => {
      hadDialog = hasDialog();
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey || isTaken(event.target))
        return;
      // This key has closed a dialog, which had lost the focus.
      if (event.key === "Escape" && hadDialog && !hasDialog()) return;
      // The focused element handles these keys itself.
      if (event.target instanceof Element) {
        if (event.key === "Enter" && event.target.closest("a,button")) return;
        if (event.key.startsWith("Arrow") && event.target.closest("input,[role=tab]")) return;
        if (event.key === " " && event.target.closest("button,input,summary")) return;
      }
      const act = current.current[event.key];
      if (!act) return;
      event.preventDefault();
      act(event);
    };
    window.addEventListener("keydown", beforeKey, true);
    window.addEventListener("keydown", onKey);
    return () => {
      window.removeEventListener("keydown", beforeKey, true);
      window.removeEventListener("keydown", onKey);
    };
  }, []);
}

function isTaken(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable) return true;
  // Checkboxes and radio buttons take no text.
  const isTicked = target instanceof HTMLInputElement && /^(checkbox|radio)$/.test(target.type);
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) && !isTicked) return true;
  return target.closest("[role=dialog],[role=menu],[role=listbox]") !== null;
}
