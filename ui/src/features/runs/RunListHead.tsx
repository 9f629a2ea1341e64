import { nextOrder, type Order } from "@/components/filters/filters";
import { ColumnResizer } from "./ColumnResizer";
import type { Column, Widths } from "./columns";
import classes from "./RunListHead.module.css";

interface Props {
  columns: readonly Column[];
  widths: Widths;
  /** Shows a width while an edge is dragged; null for the one before. */
  onDrag: (id: string, width: number | null) => void;
  onWidth: (id: string, width: number | null) => void;
  /** The width that shows the texts of a column whole. */
  fitting: (id: string) => number;
  order: Order | null;
  onOrder: (order: Order | null) => void;
  /** How many of the loaded runs are selected; null while they load. */
  selection: "none" | "some" | "all" | null;
  onSelectAll: (select: boolean) => void;
}

const ARROWS = { ascending: " ↑", descending: " ↓", none: "" } as const;

/** The sort direction of a column. By default the newest run, and so the lowest age, comes first. */
function sortOf(order: Order | null, key: string): keyof typeof ARROWS {
  if (key === "start_time") return order === null ? "ascending" : order === key ? "descending" : "none";
  return order === key ? "ascending" : order === `-${key}` ? "descending" : "none";
}

/** The heads of the columns, which sort the list and change widths, and a checkbox for all loaded runs. */
export function RunListHead(props: Props) {
  const { columns, widths, onDrag, onWidth, fitting, order, onOrder, selection, onSelectAll } = props;
  const edge = (id: string, label: string) => (
    <ColumnResizer
      label={label}
      width={widths[id]}
      onDrag={(width) => onDrag(id, width)}
      onWidth={(width) => onWidth(id, width)}
      fitting={() => fitting(id)}
    />
  );
  return (
    <div className={classes.head} role="row" aria-rowindex={1}>
      <span role="columnheader" className={classes.name} data-head="name">
        <input
          type="checkbox"
          ref={(input) => {
            if (input) input.indeterminate = selection === "some";
          }}
          checked={selection === "all"}
          disabled={selection === null}
          aria-label="Select all loaded runs"
          title="Select all loaded runs"
          onChange={() => onSelectAll(selection !== "all")}
        />
        Run
        {edge("name", "Run")}
      </span>
      {columns.map((column) => (
        <span
          key={column.id}
          role="columnheader"
          data-head={column.id}
          data-number={column.number || undefined}
          aria-sort={column.order ? sortOf(order, column.order) : undefined}
        >
          {column.order ? (
            <button
              type="button"
              className={classes.sort}
              onClick={() => onOrder(nextOrder(order, column.order ?? ""))}
            >
              {column.label}
              <span aria-hidden="true">{ARROWS[sortOf(order, column.order)]}</span>
            </button>
          ) : (
            <bdi className={classes.label} title={column.headTitle}>
              {column.label}
            </bdi>
          )}
          {edge(column.id, column.label)}
        </span>
      ))}
    </div>
  );
}
