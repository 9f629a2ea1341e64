import { Link } from "react-router";
import type { EvalRun } from "@/api/types";
import { Ago } from "@/components/Ago";
import type { Column } from "@/components/DataTable";
import classes from "./Evaluation.module.css";

interface Named {
  id: string;
  name: string;
}

/** The link of a row to its page. */
export function RowLink({ to, name }: { to: string; name: string }) {
  return (
    <Link to={to} className={classes.name} data-row-focus>
      <bdi>{name}</bdi>
    </Link>
  );
}

/** The name of a row, with a link to its page below `at`. */
export function nameColumn<Row extends Named>(at: string): Column<Row> {
  return {
    header: "Name",
    title: ({ name }) => name,
    cell: ({ id, name }) => <RowLink to={`${at}/${id}`} name={name} />,
  };
}

/** The revision and the split of a dataset that were evaluated. */
export function datasetColumn<Row extends Pick<EvalRun, "dataset">>(): Column<Row> {
  return {
    header: "Dataset",
    title: ({ dataset }) => dataset.name,
    cell: ({ dataset }) => (
      <span className={classes.clip}>
        <bdi>{dataset.name}</bdi>{" "}
        <span className={classes.dim}>
          r{dataset.revision}
          {dataset.split !== null && (
            <>
              {" "}
              · <bdi>{dataset.split}</bdi>
            </>
          )}
        </span>
      </span>
    ),
  };
}

export function startedColumn<Row extends { created_at: string }>(now: number): Column<Row> {
  return {
    header: "Started",
    number: true,
    cell: ({ created_at }) => <Ago time={created_at} now={now} />,
  };
}
