import { Badge, Button, Group, Menu, Text } from "@mantine/core";
import {
  IconArrowRight,
  IconHistory,
  IconLock,
  IconLockOpen,
  IconPlus,
  IconTrash,
} from "@tabler/icons-react";
import { useState } from "react";
import { Link } from "react-router";
import { useDeleteAlias, usePromptAliases, useProtectAlias } from "@/api/prompts";
import type { Prompt, PromptAlias } from "@/api/types";
import { Ago } from "@/components/Ago";
import { authorName } from "@/components/author";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { DataTable } from "@/components/DataTable";
import { PageHint, PageMessage } from "@/components/PageMessage";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { DangerItem, RowMenu } from "@/components/RowMenu";
import { useNow } from "@/components/useNow";
import { allows, useProject } from "@/components/useProject";
import { AliasHistory } from "./AliasHistory";
import { MoveAliasDialog } from "./MoveAliasDialog";
import classes from "./PromptPage.module.css";
import { StaleAlias } from "./StaleAlias";

type OpenDialog =
  | { kind: "new" }
  | { kind: "move" | "protect" | "delete" | "history"; alias: PromptAlias }
  | { kind: "roll-back"; alias: PromptAlias; version: number };

interface Props {
  prompt: Prompt;
  mayWrite: boolean;
}

/** The aliases of a prompt: which version programs get. */
export function AliasesTab({ prompt, mayWrite }: Props) {
  const query = usePromptAliases(prompt.id);
  const isAdmin = allows(useProject(), "admin");
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const close = () => setDialog(null);
  const now = useNow(30_000);
  const add = mayWrite && prompt.latest_version !== null && (
    <Button leftSection={<IconPlus size={14} />} onClick={() => setDialog({ kind: "new" })}>
      New alias
    </Button>
  );
  return (
    <>
      <QueryState query={query} skeleton={<SkeletonRows count={4} height={32} />} page>
        {({ data: aliases }) =>
          aliases.length === 0 ? (
            <PageMessage title="No aliases yet.">
              <PageHint>
                Programs ask for an alias such as production. Moving it to another version changes what they
                get, without a release. The alias latest is always the newest version.
              </PageHint>
              {prompt.latest_version === null ? <PageHint>Save a version first.</PageHint> : add}
            </PageMessage>
          ) : (
            <>
              <Group className={classes.intro} justify="space-between">
                <span>Which version programs get. latest is always the newest version.</span>
                {add}
              </Group>
              <DataTable
                label="Aliases"
                stacks
                rows={aliases}
                rowKey={({ alias }) => alias}
                rowProps={({ alias, version }) => ({
                  "data-testid": "alias-row",
                  "data-alias": alias,
                  "data-version": String(version),
                })}
                columns={[
                  {
                    header: "Alias",
                    cell: (alias) => (
                      <Group gap={8} wrap="nowrap">
                        {alias.alias}
                        {alias.protected && (
                          <Badge
                            size="sm"
                            variant="default"
                            tt="none"
                            leftSection={<IconLock size={11} aria-hidden="true" />}
                            title="Only an admin can move it, and nobody can delete it."
                          >
                            protected
                          </Badge>
                        )}
                      </Group>
                    ),
                  },
                  {
                    header: "Version",
                    cell: ({ version }) => <Link to={`?version=${version}`}>v{version}</Link>,
                  },
                  { header: "Changed by", cell: ({ updated_by: author }) => authorName(author) },
                  {
                    header: "Changed",
                    number: true,
                    cell: ({ updated_at }) => <Ago time={updated_at} now={now} />,
                  },
                  {
                    header: "Actions",
                    hideHeader: true,
                    cell: (alias) => (
                      <Group gap={4} wrap="nowrap" justify="flex-end">
                        {mayWrite && (
                          <Button
                            size="compact-xs"
                            variant="default"
                            disabled={alias.protected && !isAdmin}
                            title={alias.protected && !isAdmin ? "Only an admin can move it." : undefined}
                            onClick={() => setDialog({ kind: "move", alias })}
                          >
                            Move…
                          </Button>
                        )}
                        <RowMenu name={alias.alias}>
                          <Menu.Item
                            leftSection={<IconHistory size={15} />}
                            onClick={() => setDialog({ kind: "history", alias })}
                          >
                            History
                          </Menu.Item>
                          {mayWrite && isAdmin && (
                            <Menu.Item
                              leftSection={
                                alias.protected ? <IconLockOpen size={15} /> : <IconLock size={15} />
                              }
                              onClick={() => setDialog({ kind: "protect", alias })}
                            >
                              {alias.protected ? "End protection…" : "Protect…"}
                            </Menu.Item>
                          )}
                          {mayWrite && !alias.protected && (
                            <DangerItem icon={IconTrash} onClick={() => setDialog({ kind: "delete", alias })}>
                              Delete…
                            </DangerItem>
                          )}
                        </RowMenu>
                      </Group>
                    ),
                  },
                ]}
              />
            </>
          )
        }
      </QueryState>
      {dialog?.kind === "new" && (
        <MoveAliasDialog prompt={prompt} known={query.data?.data ?? []} onClose={close} />
      )}
      {(dialog?.kind === "move" || dialog?.kind === "roll-back") && (
        <MoveAliasDialog
          prompt={prompt}
          alias={dialog.alias}
          known={query.data?.data ?? []}
          version={dialog.kind === "roll-back" ? dialog.version : undefined}
          onClose={close}
        />
      )}
      {dialog?.kind === "protect" && <ProtectDialog prompt={prompt} alias={dialog.alias} onClose={close} />}
      {dialog?.kind === "delete" && <DeleteDialog prompt={prompt} alias={dialog.alias} onClose={close} />}
      {dialog?.kind === "history" && (
        <AliasHistory
          prompt={prompt}
          alias={dialog.alias}
          mayMove={mayWrite && (!dialog.alias.protected || isAdmin)}
          onClose={close}
          onRollBack={(version) => setDialog({ kind: "roll-back", alias: dialog.alias, version })}
        />
      )}
    </>
  );
}

interface DialogProps {
  prompt: Prompt;
  alias: PromptAlias;
  onClose: () => void;
}

function ProtectDialog({ prompt, alias, onClose }: DialogProps) {
  const protect = useProtectAlias(prompt);
  const isEnding = alias.protected;
  return (
    <ConfirmDialog
      title={isEnding ? `End the protection of “${alias.alias}”?` : `Protect “${alias.alias}”?`}
      action={isEnding ? "End protection" : "Protect"}
      mutation={protect}
      destructive={isEnding}
      onConfirm={() =>
        protect.mutate({ alias: alias.alias, etag: alias.etag, protected: !isEnding }, { onSuccess: onClose })
      }
      onClose={onClose}
    >
      {isEnding
        ? "Everyone who may edit prompts can move it and delete it again."
        : "Only admins and owners can move it then. Nobody can delete it or the prompt until the protection ends."}
      <StaleAlias prompt={prompt} alias={alias.alias} error={protect.error} onReloaded={onClose} />
    </ConfirmDialog>
  );
}

function DeleteDialog({ prompt, alias, onClose }: DialogProps) {
  const remove = useDeleteAlias(prompt);
  return (
    <ConfirmDialog
      title={`Delete the alias “${alias.alias}”?`}
      action="Delete alias"
      mutation={remove}
      onConfirm={() => remove.mutate({ alias: alias.alias, etag: alias.etag }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <Text size="sm">
        Programs that ask for {prompt.name} <IconArrowRight size={12} aria-label="with" /> {alias.alias} get
        an error from then on. v{alias.version} and the history of the alias stay.
      </Text>
      <StaleAlias prompt={prompt} alias={alias.alias} error={remove.error} onReloaded={onClose} />
    </ConfirmDialog>
  );
}
