import { useMemo } from "react";
import { useSearchParams } from "react-router";
import { useProjectId } from "@/components/useProject";
import { areFiltering, readFilters, toQuery } from "./filters";

/** The filters in the address, and the API query that they make. */
export function useFilters() {
  const projectId = useProjectId();
  const [params, setParams] = useSearchParams();
  const filters = useMemo(() => readFilters(params), [params]);
  const filter = useMemo(() => toQuery(projectId, filters), [projectId, filters]);
  return { projectId, params, setParams, filters, filter, isFiltered: areFiltering(filters) };
}
