import { type QueryKey, useMutation, useQueryClient } from "@tanstack/react-query";

/** A mutation that refetches the queries under `key` when it succeeds. */
export function useInvalidatingMutation<Input, Result>(
  key: QueryKey,
  mutationFn: (input: Input) => Promise<Result>,
) {
  const queryClient = useQueryClient();
  return useMutation({ mutationFn, onSuccess: () => queryClient.invalidateQueries({ queryKey: key }) });
}
