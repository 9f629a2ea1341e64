import { Badge, Button, Group, Menu, Text } from "@mantine/core";
import { IconBan, IconPlus, IconRefresh } from "@tabler/icons-react";
import { useState } from "react";
import { useApiKeys, useRevokeKey, useRotateKey } from "@/api/apiKeys";
import type { Key, KeyWithSecret } from "@/api/types";
import { Ago } from "@/components/Ago";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { CopyButton } from "@/components/CopyButton";
import { type Column, DataTable } from "@/components/DataTable";
import { formatMoment, formatTime, NONE } from "@/components/format";
import { ListPage } from "@/components/ListPage";
import { NeedsAdmin } from "@/components/NeedsAdmin";
import { PageHint } from "@/components/PageMessage";
import { DangerItem, RowMenu } from "@/components/RowMenu";
import { SecretDialog } from "@/components/SecretDialog";
import { useNow } from "@/components/useNow";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { CreateKeyDialog } from "./CreateKeyDialog";
import { keyState, sortKeys } from "./state";

type OpenDialog =
  | { kind: "create" }
  | { kind: "revoke" | "rotate"; key: Key }
  | { kind: "secret"; key: KeyWithSecret };

/** The keys of the project: create, rotate, revoke. */
export function KeysPage() {
  return allows(useProject(), "admin") ? <Keys /> : <NeedsAdmin title="Keys" act="manage keys" />;
}

function Keys() {
  const projectId = useProjectId();
  const query = useApiKeys(projectId);
  const revoke = useRevokeKey(projectId);
  const rotate = useRotateKey(projectId);
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const now = useNow(30_000);
  const close = () => {
    revoke.reset();
    rotate.reset();
    setDialog(null);
  };
  const showSecret = (key: KeyWithSecret) => setDialog({ kind: "secret", key });
  const open = (kind: "revoke" | "rotate", key: Key) => () => setDialog({ kind, key });
  const columns: Column<Key>[] = [
    { header: "Name", cell: (key) => <Name of={key} now={now} /> },
    {
      header: "Key",
      ownLine: true,
      cell: (key) => (
        <Group gap={4} wrap="nowrap">
          <code>lt_{key.public_id}</code>
          <CopyButton value={key.public_id} what="public id" />
        </Group>
      ),
    },
    { header: "Scopes", ownLine: true, cell: (key) => <Text size="xs">{key.scopes.join(", ")}</Text> },
    {
      header: "Created by",
      title: (key) => key.created_by ?? "Another key, or a deleted account",
      cell: (key) => (
        <Text size="xs" component="span">
          {key.created_by ?? NONE}
        </Text>
      ),
    },
    { header: "Created", number: true, cell: (key) => <Ago time={key.created_at} now={now} /> },
    {
      header: "Last used",
      number: true,
      cell: (key) => (key.last_used_at ? <Ago time={key.last_used_at} now={now} /> : "never"),
    },
    { header: "Last used from", cell: (key) => key.last_used_ip ?? NONE },
    {
      header: "Expires",
      number: true,
      title: (key) => (key.expires_at ? formatTime(key.expires_at) : undefined),
      cell: (key) => (key.expires_at ? formatMoment(key.expires_at, now) : "never"),
    },
    {
      header: "Actions",
      hideHeader: true,
      cell: (key) =>
        !key.revoked_at && (
          <RowMenu name={key.name}>
            <Menu.Item leftSection={<IconRefresh size={15} />} onClick={open("rotate", key)}>
              Rotate…
            </Menu.Item>
            <DangerItem icon={IconBan} onClick={open("revoke", key)}>
              Revoke…
            </DangerItem>
          </RowMenu>
        ),
    },
  ];

  const add = (
    <Button leftSection={<IconPlus size={14} />} onClick={() => setDialog({ kind: "create" })}>
      New key
    </Button>
  );
  return (
    <>
      <ListPage
        title="Keys"
        context="A key lets a program record or read runs of this project."
        actions={query.data?.pages.some(({ data }) => data.length > 0) ? add : undefined}
        query={query}
        what="keys"
        rowHeight={36}
        emptyTitle="No keys yet."
        emptyHint={
          <>
            <PageHint>Applications need an Ingest key to record their runs.</PageHint>
            {add}
          </>
        }
      >
        {(keys) => (
          <DataTable
            label="Keys"
            columns={columns}
            rows={sortKeys(keys, now)}
            rowKey={(key) => key.id}
            rowProps={(key) => {
              const state = keyState(key, now);
              return {
                "data-testid": "key-row",
                "data-state": state,
                "data-dim": state === "active" ? undefined : "true",
              };
            }}
            stacks
          />
        )}
      </ListPage>
      {dialog?.kind === "create" && (
        <CreateKeyDialog projectId={projectId} onClose={close} onCreated={showSecret} />
      )}
      {dialog?.kind === "revoke" && (
        <ConfirmDialog
          title={`Revoke “${dialog.key.name}”?`}
          action={`Revoke “${dialog.key.name}”`}
          mutation={revoke}
          onConfirm={() => revoke.mutate(dialog.key.id, { onSuccess: close })}
          onClose={close}
        >
          Programs that use <code>lt_{dialog.key.public_id}</code> lose access within 5 seconds. You can't
          undo this.
        </ConfirmDialog>
      )}
      {dialog?.kind === "rotate" && (
        <ConfirmDialog
          title={`Rotate “${dialog.key.name}”?`}
          action={`Rotate “${dialog.key.name}”`}
          mutation={rotate}
          onConfirm={() => rotate.mutate(dialog.key.id, { onSuccess: showSecret })}
          onClose={close}
          destructive={false}
        >
          Creates a new key with the same name, scopes and expiry, and revokes{" "}
          <code>lt_{dialog.key.public_id}</code>. Programs that use the old key lose access within 5 seconds.
        </ConfirmDialog>
      )}
      {dialog?.kind === "secret" && (
        <SecretDialog
          title={`Key “${dialog.key.name}”`}
          secret={dialog.key.key}
          what="key"
          testId="key-secret"
          onClose={close}
        />
      )}
    </>
  );
}

function Name({ of: key, now }: { of: Key; now: number }) {
  const state = keyState(key, now);
  return (
    <Group gap={8} wrap="nowrap">
      <Text size="sm" fw={550} truncate title={key.name}>
        {key.name}
      </Text>
      {state !== "active" && (
        <Badge size="sm" variant="default" tt="none" flex="none">
          {state} {key.revoked_at && <Ago time={key.revoked_at} now={now} />}
        </Badge>
      )}
    </Group>
  );
}
