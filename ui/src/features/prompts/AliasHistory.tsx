import { Button, Drawer, Text } from "@mantine/core";
import { useAliasHistory } from "@/api/prompts";
import type { Prompt, PromptAlias, PromptAliasChange } from "@/api/types";
import { Ago } from "@/components/Ago";
import { authorName } from "@/components/author";
import { LoadMore } from "@/components/LoadMore";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { useNow } from "@/components/useNow";
import classes from "./PromptPage.module.css";

interface Props {
  prompt: Prompt;
  alias: PromptAlias;
  mayMove: boolean;
  onClose: () => void;
  onRollBack: (version: number) => void;
}

/** What an alias was before, and the way back. */
export function AliasHistory({ prompt, alias, mayMove, onClose, onRollBack }: Props) {
  const query = useAliasHistory(prompt.id, alias.alias);
  const now = useNow(30_000);
  return (
    <Drawer opened onClose={onClose} position="right" title={`History of “${alias.alias}”`}>
      <QueryState query={query} skeleton={<SkeletonRows count={5} height={36} />}>
        {({ pages }) => (
          <>
            <ol className={classes.history}>
              {pages
                .flatMap((page) => page.data)
                .map((change) => (
                  <li key={`${change.changed_at} ${change.change}`} data-testid="alias-change">
                    <div>
                      {changeText(change)}
                      <Text size="xs" c="dimmed">
                        {authorName(change.changed_by)}, <Ago time={change.changed_at} now={now} />
                      </Text>
                    </div>
                    {mayMove && change.change === "moved" && change.from_version !== null && (
                      <Button
                        size="compact-xs"
                        variant="default"
                        disabled={change.from_version === alias.version}
                        onClick={() => onRollBack(change.from_version ?? alias.version)}
                      >
                        Roll back to v{change.from_version}
                      </Button>
                    )}
                  </li>
                ))}
            </ol>
            <LoadMore query={query} what="changes" />
          </>
        )}
      </QueryState>
    </Drawer>
  );
}

function changeText({ change, from_version: from, to_version: to }: PromptAliasChange): string {
  switch (change) {
    case "created":
      return `Created at v${to}`;
    case "moved":
      return `Moved from v${from} to v${to}`;
    case "protected":
      return "Protected";
    case "unprotected":
      return "Protection ended";
    case "deleted":
      return `Deleted, was v${from}`;
  }
}
