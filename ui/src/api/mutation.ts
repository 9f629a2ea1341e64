import { type QueryKey, useMutation, useQueryClient } from "@tanstack/react-query";

/** A mutation that refetches the queries under `key`, or under several keys, when it succeeds. */
export function useInvalidatingMutation<Input, Result>(
  key: QueryKey | { all: readonly QueryKey[] },
  mutationFn: (input: Input) => Promise<Result>,
) {
  const queryClient = useQueryClient();
  const stale = "all" in key ? key.all : [key];
  return useMutation({
    mutationFn,
    onSuccess: () => Promise.all(stale.map((queryKey) => queryClient.invalidateQueries({ queryKey }))),
  });
}
