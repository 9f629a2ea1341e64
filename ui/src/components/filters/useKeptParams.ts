import { useEffect, useMemo } from "react";
import { useSearchParams } from "react-router";
import { DEFAULT_RANGE, TIME_PARAMS } from "./filters";

const storageKey = (projectId: string) => `looptrace.time.${projectId}`;

/**
 * The parameters of the address. One without any, as that of a new visit, gets the time range that this tab last used in
 * the project.
 */
export function useKeptParams(projectId: string): ReturnType<typeof useSearchParams> {
  const [address, setAddress] = useSearchParams();
  const params = useMemo(
    () => (address.size === 0 ? new URLSearchParams(recall(projectId)) : address),
    [address, projectId],
  );
  useEffect(() => {
    if (address.size === 0 && params.size > 0) setAddress(params, { replace: true });
    else if (address.size > 0) store(projectId, timeOf(address));
  }, [address, params, setAddress, projectId]);
  return [params, setAddress];
}

/** The time range of an address; empty for the default. */
function timeOf(params: URLSearchParams): string {
  if (params.get("range") === DEFAULT_RANGE) return "";
  const kept = TIME_PARAMS.map((name) => [name, params.get(name)] as const);
  return new URLSearchParams(
    kept.flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
  ).toString();
}

function recall(projectId: string): string {
  try {
    return sessionStorage.getItem(storageKey(projectId)) ?? "";
  } catch {
    return "";
  }
}

function store(projectId: string, time: string) {
  try {
    sessionStorage.setItem(storageKey(projectId), time);
  } catch {
    // Without storage a new visit has the default range.
  }
}
