/** Follows a pointer until it is released. */
export function followPointer(
  down: PointerEvent,
  element: HTMLElement,
  onMove: (event: PointerEvent) => void,
): Promise<void> {
  return new Promise((resolve) => {
    const move = (event: PointerEvent) => event.pointerId === down.pointerId && onMove(event);
    const up = (event: PointerEvent) => {
      if (event.pointerId !== down.pointerId) return;
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", up);
      window.removeEventListener("pointercancel", up);
      element.style.removeProperty("user-select");
      resolve();
    };
    element.style.setProperty("user-select", "none");
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", up);
    window.addEventListener("pointercancel", up);
  });
}
