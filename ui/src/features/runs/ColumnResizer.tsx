import { useRef, useState } from "react";
import { boundedWidth, MAX_WIDTH, MIN_WIDTH } from "./layout";
import classes from "./RunListHead.module.css";

interface Props {
  /** The column's name. */
  label: string;
  /** The chosen width in pixels; undefined for the column's own. */
  width: number | undefined;
  /** Shows a width while the edge is dragged; null for the one before. */
  onDrag: (width: number | null) => void;
  onWidth: (width: number | null) => void;
  /** The width that shows the loaded texts whole. */
  fitting: () => number;
}

const STEP = 8;
const LARGE_STEP = 40;

/** The edge of a column: dragging it and the arrow keys change the width, Enter or a double click fits it to its texts, or resets it. */
export function ColumnResizer({ label, width, onDrag, onWidth, fitting }: Props) {
  const edge = useRef<HTMLDivElement>(null);
  const drag = useRef<{ x: number; width: number } | null>(null);
  const [measured, setMeasured] = useState(MIN_WIDTH);
  const actual = () => edge.current?.parentElement?.getBoundingClientRect().width ?? MIN_WIDTH;
  const dragged = (x: number) => drag.current && boundedWidth(drag.current.width + x - drag.current.x);
  const resize = () => {
    const fitted = boundedWidth(fitting());
    onWidth(width === fitted ? null : fitted);
  };
  const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1 };
  return (
    // biome-ignore lint/a11y/useSemanticElements: an hr has no width to change
    <div
      ref={edge}
      className={classes.edge}
      role="separator"
      aria-orientation="vertical"
      aria-label={`Width of ${label}`}
      aria-valuenow={width ?? measured}
      aria-valuemin={MIN_WIDTH}
      aria-valuemax={MAX_WIDTH}
      tabIndex={0}
      title="Drag to resize. Double-click to fit, again to reset."
      onFocus={() => setMeasured(boundedWidth(actual()))}
      onDoubleClick={resize}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        drag.current = { x: event.clientX, width: actual() };
      }}
      onPointerMove={(event) => onDrag(dragged(event.clientX))}
      onPointerUp={(event) => {
        const next = dragged(event.clientX);
        const isMoved = drag.current !== null && event.clientX !== drag.current.x;
        drag.current = null;
        if (isMoved) onWidth(next);
      }}
      onPointerCancel={() => {
        drag.current = null;
        onDrag(null);
      }}
      onKeyDown={(event) => {
        const direction = steps[event.key];
        if (direction !== undefined)
          onWidth(boundedWidth(actual() + direction * (event.shiftKey ? LARGE_STEP : STEP)));
        else if (event.key === "Enter") resize();
        else return;
        event.preventDefault();
      }}
    />
  );
}
