import { Link } from "react-router";
import type { EvaluationAccounting, PanelRead } from "@/api/types";
import { DataTable } from "@/components/DataTable";
import { formatCount, formatCountOf } from "@/components/format";
import classes from "./Evaluation.module.css";
import { accountingParts, reasonText } from "./progress";

type Reason = EvaluationAccounting["reasons"][number];

interface Props {
  accounting: EvaluationAccounting;
  repeats: number;
  /** Those of the evaluation: what they lack is said of judges. */
  panels: readonly PanelRead[];
  /** Of a comparison 2, of an eval-run 1. */
  sides: 1 | 2;
}

/** What became of all items, as a sum that adds up, and why. */
export function Accounting({ accounting, repeats, panels, sides }: Props) {
  const parts = accountingParts(accounting);
  const made = accounting.outputs;
  return (
    <section aria-label="Items" className={classes.panel} data-testid="accounting">
      <h2 className={classes.heading}>Items</h2>
      <ul className={classes.sum}>
        {parts.map(({ status, label, count }, index) => (
          <li key={status} data-status={status} data-zero={count === 0 || undefined}>
            <span aria-hidden="true">{index === 0 ? "" : "+"}</span>
            <span className={classes.count}>{formatCount(count)}</span>
            {count > 0 && status !== "scored" ? (
              <Link to={`?tab=items&status=${status}`}>{label}</Link>
            ) : (
              label
            )}
          </li>
        ))}
        <li className={classes.total}>
          <span aria-hidden="true">=</span>
          <span className={classes.count}>{formatCount(accounting.items)}</span>
          items of the dataset
        </li>
      </ul>
      <p className={classes.note}>
        {sides === 2
          ? "Items count as scored if both sides have a score."
          : "Items count as scored if all their outputs have a score."}{" "}
        Outputs: {formatCount(made)} made, {formatCount(accounting.outputs_failed)} failed,{" "}
        {formatCount(accounting.outputs_skipped)} skipped, {formatCount(accounting.outputs_pending)} not run
        yet ({formatCountOf(accounting.items, "item")}
        {sides > 1 && ` × ${sides} sides`}
        {repeats > 1 && ` × ${repeats} repeats`}).
      </p>
      {accounting.reasons.length > 0 && (
        <>
          <h3 className={classes.subheading}>Why outputs are missing or have no score</h3>
          <DataTable
            label="Reasons"
            rows={accounting.reasons}
            rowKey={({ side, code }) => `${side} ${code}`}
            rowProps={() => ({ "data-testid": "reason" })}
            columns={[
              {
                header: "Reason",
                title: ({ code }) => code,
                cell: ({ code }) => <span className={classes.reason}>{reasonText(code, panels)}</span>,
              },
              ...(sides === 1
                ? []
                : [
                    {
                      header: "Side",
                      cell: ({ side }: Reason) => (side === null ? "both" : side.toUpperCase()),
                    },
                  ]),
              { header: "Outputs", number: true, cell: ({ count }) => formatCount(count) },
            ]}
          />
          {accounting.other_reasons > 0 && (
            <p className={classes.note}>
              {formatCount(accounting.other_reasons)} more outputs have rarer reasons.
            </p>
          )}
        </>
      )}
    </section>
  );
}
