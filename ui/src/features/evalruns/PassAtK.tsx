import type { EvalRunMetric } from "@/api/types";
import { DataTable } from "@/components/DataTable";
import classes from "@/components/evaluation/Evaluation.module.css";
import { Interval } from "@/components/evaluation/Interval";
import { formatCount, formatPercent, NONE } from "@/components/format";

type Point = EvalRunMetric["pass_at_k"][number];

/** Of repeated outputs: how often at least one of k passes, and how often all of them do. */
export function PassAtK({ scores }: { scores: readonly EvalRunMetric[] }) {
  const rows = scores.flatMap(({ name, pass_at_k: any, pass_hat_k: all }) =>
    any.length < 2
      ? []
      : any.map((point) => ({ name, k: point.k, any: point, all: all.find(({ k }) => k === point.k) })),
  );
  if (rows.length === 0) return null;
  return (
    <section className={classes.metrics} data-testid="pass-at-k">
      <h2 className={classes.heading}>Over repeats</h2>
      <DataTable
        label="pass@k and pass^k"
        stacks
        rows={rows}
        rowKey={({ name, k }) => `${name} ${k}`}
        columns={[
          { header: "Metric", cell: ({ name, k }) => `${name}, k = ${k}` },
          {
            header: "pass@k: at least one passes",
            number: true,
            cell: ({ any }) => <Share point={any} />,
          },
          { header: "pass^k: all pass", number: true, cell: ({ all }) => <Share point={all} /> },
          { header: "Items", number: true, cell: ({ any }) => formatCount(any.n) },
        ]}
      />
      <p className={classes.note}>
        The chance for k outputs of one item, a mean over the items with all their repeats. The gap between
        the two says how unsteady the outputs are.
      </p>
    </section>
  );
}

function Share({ point }: { point: Point | undefined }) {
  if (!point) return NONE;
  return (
    <>
      {formatPercent(point.value)}
      <Interval ci={point.ci} format={formatPercent} />
    </>
  );
}
