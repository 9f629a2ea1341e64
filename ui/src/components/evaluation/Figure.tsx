import type { ReliabilityFigure } from "@/api/types";
import { NONE } from "@/components/format";
import classes from "./Evaluation.module.css";
import { Interval } from "./Interval";
import { type FigureKind, figureFlag, formatFigure } from "./trust";

interface Props {
  figure: ReliabilityFigure;
  kind: FigureKind;
  /** Leaves out what to mind. */
  isShort?: boolean;
}

/** A figure with its interval and what to mind, or why there is none. */
export function Figure({ figure, kind, isShort = false }: Props) {
  const flag = figureFlag(figure);
  if (figure.value === null)
    return <span className={classes.dim}>{flag === "Doesn't apply" ? NONE : (flag ?? NONE)}</span>;
  return (
    <>
      {formatFigure(kind, figure.value)}
      <Interval ci={figure.ci} format={(value) => formatFigure(kind, value)} />
      {flag && !isShort && <span className={classes.flag}>{flag}</span>}
    </>
  );
}
