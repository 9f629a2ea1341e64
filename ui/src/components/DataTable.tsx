import { Table, VisuallyHidden } from "@mantine/core";
import classes from "./DataTable.module.css";

export interface Column<Row> {
  header: string;
  /** Only screen readers get the header. */
  hideHeader?: boolean;
  /** Right-aligned, with digits of equal width. */
  number?: boolean;
  cell: (row: Row) => React.ReactNode;
  title?: (row: Row) => string | undefined;
  /** In a stacked row it takes a line of its own, without its header. */
  ownLine?: boolean;
}

interface Props<Row> {
  /** Names the table for screen readers. */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  /** Attributes of the row's element. */
  rowProps?: (row: Row) => Record<`data-${string}`, string | undefined>;
  /** On a narrow screen each row becomes a block of lines. Without it the table scrolls sideways. */
  stacks?: boolean;
  maxHeight?: number;
}

/** Rows in columns. The first column names the row. */
export function DataTable<Row>({ label, columns, rows, rowKey, rowProps, stacks, maxHeight }: Props<Row>) {
  return (
    <section
      className={classes.root}
      style={{ maxHeight }}
      data-stacks={stacks || undefined}
      tabIndex={stacks && maxHeight === undefined ? undefined : 0}
      aria-label={label}
    >
      <Table className={classes.table} aria-label={label} highlightOnHover>
        <Table.Thead>
          <Table.Tr>
            {columns.map((column) => (
              <Table.Th key={column.header} data-number={column.number || undefined}>
                {column.hideHeader ? <VisuallyHidden>{column.header}</VisuallyHidden> : column.header}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={rowKey(row)} {...rowProps?.(row)}>
              {columns.map((column, index) => (
                <Table.Td
                  key={column.header}
                  title={column.title?.(row)}
                  data-number={column.number || undefined}
                  data-own-line={column.ownLine || index === 0 || undefined}
                  data-actions={column.hideHeader || undefined}
                  data-label={column.ownLine || column.hideHeader || index === 0 ? undefined : column.header}
                >
                  {column.cell(row)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  );
}
