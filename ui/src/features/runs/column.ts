import type { Run } from "@/api/types";

/** What a cell may use besides its run. */
interface CellContext {
  now: number;
  /** The words of the search, to highlight. */
  words: readonly string[];
}

/** A column of the list of runs. */
export interface ColumnOf {
  id: string;
  label: string;
  /** The width of its grid track. */
  width: string;
  /** Its minimum width in pixels, including the gap. */
  minWidth: number;
  number?: boolean;
  /** The API's order parameter. */
  order?: string;
  /** Explains the label. */
  headTitle?: string;
  title?: (run: Run) => string | undefined;
  cell: (run: Run, context: CellContext) => React.ReactNode;
}
