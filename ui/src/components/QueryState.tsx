import { Skeleton, Stack } from "@mantine/core";
import { Delayed } from "./Delayed";
import { PageMessage } from "./PageMessage";
import { ProblemPanel } from "./ProblemPanel";
import { useLastingError } from "./useLastingError";

interface Props<Data> {
  query: { data: Data | undefined; error: Error | null; refetch: () => unknown };
  /** Shown after 200 ms without data. */
  skeleton: React.ReactNode;
  /** The query fills the page, and so does its error. */
  page?: boolean;
  children: (data: Data) => React.ReactNode;
}

/** A query's data; until there is any, a skeleton or the error with a retry. A failed refetch keeps the data. */
export function QueryState<Data>({ query, skeleton, page = false, children }: Props<Data>) {
  const { data, refetch } = query;
  const error = useLastingError(query);
  if (data !== undefined) return children(data);
  if (!error)
    return (
      <div aria-busy="true">
        <Delayed>{skeleton}</Delayed>
      </div>
    );
  const problem = <ProblemPanel error={error} onRetry={() => void refetch()} />;
  return page ? <PageMessage>{problem}</PageMessage> : problem;
}

/** Placeholders for a list. */
export function SkeletonRows({ count, height }: { count: number; height: number }) {
  return (
    <Stack gap={6} p="md">
      {Array.from({ length: count }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all alike
        <Skeleton key={row} h={height} />
      ))}
    </Stack>
  );
}
