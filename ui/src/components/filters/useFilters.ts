import { useMemo } from "react";
import { useProjectId } from "@/components/useProject";
import { areFiltering, areTimed, readFilters, toQuery } from "./filters";
import { useKeptParams } from "./useKeptParams";

/** The filters in the address, and the API query that they make. */
export function useFilters() {
  const projectId = useProjectId();
  const [params, setParams] = useKeptParams(projectId);
  const filters = useMemo(() => readFilters(params), [params]);
  const filter = useMemo(() => toQuery(projectId, filters), [projectId, filters]);
  return {
    projectId,
    params,
    setParams,
    filters,
    filter,
    isFiltered: areFiltering(filters),
    isTimed: areTimed(filters),
  };
}
