import { Alert, Button } from "@mantine/core";
import { useEffect } from "react";
import { ApiError } from "@/api/problem";
import { usePromptAliases } from "@/api/prompts";
import type { Prompt } from "@/api/types";

interface Props {
  prompt: Prompt;
  alias: string;
  error: Error | null;
  /** Called when the reader has seen what the alias is now. */
  onReloaded: () => void;
}

/** Whether someone else changed the alias meanwhile. */
export function isStaleAlias(error: Error | null): boolean {
  return error instanceof ApiError && error.status === 412;
}

/** Says what an alias is now, if someone else changed it meanwhile. */
export function StaleAlias({ prompt, alias, error, onReloaded }: Props) {
  const { data, refetch, isFetching } = usePromptAliases(prompt.id);
  const isStale = isStaleAlias(error);
  useEffect(() => {
    if (isStale) void refetch();
  }, [isStale, refetch]);
  if (!isStale) return null;
  const current = data?.data.find((one) => one.alias === alias);
  return (
    <Alert
      role="alert"
      mt="sm"
      variant="light"
      color="yellow"
      p="xs"
      c="var(--lt-text)"
      data-testid="stale-alias"
      aria-busy={isFetching || undefined}
    >
      {isFetching
        ? "Someone changed the alias meanwhile."
        : current
          ? `Someone moved it meanwhile: ${alias} is now v${current.version}${current.protected ? ", protected" : ""}.`
          : `Someone deleted the alias ${alias} meanwhile.`}{" "}
      Nothing was changed.{" "}
      <Button size="compact-xs" variant="default" onClick={onReloaded} disabled={isFetching}>
        Reload
      </Button>
    </Alert>
  );
}
