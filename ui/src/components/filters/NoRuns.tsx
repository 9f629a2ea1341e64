import { Button } from "@mantine/core";
import { useHasRuns } from "@/api/stats";
import { PageMessage } from "@/components/PageMessage";
import { type Filters, withoutFilters } from "./filters";
import { EmptyTime } from "./TimeNotes";

interface Props {
  projectId: string;
  filters: Filters;
  isFiltered: boolean;
  /** Whether runs of another time are left out. */
  isTimed: boolean;
  params: URLSearchParams;
  onParams: (params: URLSearchParams) => void;
  /** What shows until it is known whether there are runs of another time. */
  skeleton: React.ReactNode;
  /** What to do in a project without runs. */
  children: React.ReactNode;
}

/** Why there are no runs: the time range, the filters, or the project has none. */
export function NoRuns(props: Props) {
  const { projectId, filters, isFiltered, isTimed, params, onParams, skeleton, children } = props;
  const other = useHasRuns(projectId, isTimed);
  if (isTimed && other.isPending) return skeleton;
  if (isTimed && other.data !== false)
    return <EmptyTime what="runs" filters={filters} params={params} onChange={onParams} />;
  if (isFiltered)
    return (
      <PageMessage title="No runs match these filters.">
        <Button variant="default" onClick={() => onParams(withoutFilters(params))}>
          Clear filters
        </Button>
      </PageMessage>
    );
  return <PageMessage title="No runs yet.">{children}</PageMessage>;
}
