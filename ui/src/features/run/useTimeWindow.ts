import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { followPointer } from "./followPointer";
import type { Interval } from "./outline";
import type { Place } from "./place";
import { pan, zoom } from "./timing";

/** How many pixels a pointer may move during a click. */
const CLICK_TOLERANCE = 4;

/**
 * The visible interval of the waterfall. Pinching or Ctrl with the wheel zooms at the pointer; a horizontal wheel or Shift
 * with the wheel pans; dragging the axis zooms to the selection; dragging the lanes pans. `lane` is as wide as the lanes.
 */
export function useTimeWindow(
  scroller: RefObject<HTMLElement | null>,
  axis: RefObject<HTMLElement | null>,
  lane: RefObject<HTMLElement | null>,
  runEnd: number,
  place: Place,
) {
  const [chosen, setChosen] = useState(place.shown);
  useEffect(() => {
    place.shown = chosen;
  }, [place, chosen]);
  const [dragged, setDragged] = useState<Interval>();
  const shown = useMemo(() => chosen ?? { from: 0, to: runEnd }, [chosen, runEnd]);
  const latest = useRef({ shown, runEnd });
  useEffect(() => {
    latest.current = { shown, runEnd };
  });
  const show = useCallback((next: Interval) => {
    // The next event may come before the next render.
    latest.current = { ...latest.current, shown: next };
    setChosen(next.from <= 0 && next.to >= latest.current.runEnd ? undefined : next);
  }, []);

  useEffect(() => {
    const lanes = scroller.current;
    const marks = axis.current;
    if (!lanes || !marks) return;
    const shareAt = (x: number) => {
      const box = lane.current?.getBoundingClientRect();
      return box && box.width > 0 ? (x - box.left) / box.width : Number.NaN;
    };
    const momentAt = (x: number) => {
      const { from, to } = latest.current.shown;
      return from + Math.min(1, Math.max(0, shareAt(x))) * (to - from);
    };
    const onWheel = (event: WheelEvent) => {
      const { shown, runEnd } = latest.current;
      const step = event.deltaMode === 1 ? 16 : 1;
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        const delta = Math.max(-100, Math.min(100, event.deltaY * step));
        show(zoom(shown, Math.exp(delta * 0.005), momentAt(event.clientX), runEnd));
        return;
      }
      const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
      if (sideways === 0 || (!event.shiftKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY))) return;
      event.preventDefault();
      show(pan(shown, (sideways * step) / 600, runEnd));
    };
    const onAxisDown = (down: PointerEvent) => {
      if (down.button !== 0) return;
      down.preventDefault();
      const begin = momentAt(down.clientX);
      let interval: Interval | undefined;
      followPointer(down, marks, (move) => {
        const now = momentAt(move.clientX);
        interval =
          Math.abs(move.clientX - down.clientX) > CLICK_TOLERANCE
            ? { from: Math.min(begin, now), to: Math.max(begin, now) }
            : undefined;
        setDragged(interval);
      }).then(() => {
        setDragged(undefined);
        if (interval) show(interval);
      });
    };
    const onLaneDown = (down: PointerEvent) => {
      const { shown, runEnd } = latest.current;
      const isWhole = shown.from <= 0 && shown.to >= runEnd;
      const share = shareAt(down.clientX);
      if (down.button !== 0 || down.pointerType === "touch" || isWhole || !(share >= 0 && share <= 1)) return;
      let moved = false;
      followPointer(down, lanes, (move) => {
        moved ||= Math.abs(move.clientX - down.clientX) > CLICK_TOLERANCE;
        if (moved) show(pan(shown, share - shareAt(move.clientX), runEnd));
      }).then(() => {
        // A drag must not click the row below it.
        if (moved)
          lanes.addEventListener("click", (event) => event.stopPropagation(), { capture: true, once: true });
      });
    };
    lanes.addEventListener("wheel", onWheel, { passive: false });
    marks.addEventListener("wheel", onWheel, { passive: false });
    marks.addEventListener("pointerdown", onAxisDown);
    lanes.addEventListener("pointerdown", onLaneDown);
    return () => {
      lanes.removeEventListener("wheel", onWheel);
      marks.removeEventListener("wheel", onWheel);
      marks.removeEventListener("pointerdown", onAxisDown);
      lanes.removeEventListener("pointerdown", onLaneDown);
    };
  }, [scroller, axis, lane, show]);

  return {
    shown,
    isWhole: chosen === undefined,
    dragged,
    show,
    showAll: useCallback(() => setChosen(undefined), []),
  };
}
