import {
  ActionIcon,
  Badge,
  Button,
  Group,
  Menu,
  Skeleton,
  Stack,
  Table,
  Text,
  Tooltip,
  VisuallyHidden,
} from "@mantine/core";
import { IconBan, IconDots, IconPlus, IconRefresh } from "@tabler/icons-react";
import { useState } from "react";
import { useKeys } from "@/api/keys";
import type { Key, KeyWithSecret } from "@/api/types";
import { CopyButton } from "@/components/CopyButton";
import { Delayed } from "@/components/Delayed";
import { formatAge, formatTime } from "@/components/format";
import { Page } from "@/components/Page";
import { ProblemPanel } from "@/components/ProblemPanel";
import { useNow } from "@/components/useNow";
import { allows, useProject, useProjectId } from "@/components/useProject";
import classes from "./KeysPage.module.css";
import { MintDialog } from "./MintDialog";
import { RevokeDialog } from "./RevokeDialog";
import { RotateDialog } from "./RotateDialog";
import { SecretDialog } from "./SecretDialog";
import { keyState, sortKeys } from "./state";

type Dialog =
  | { kind: "mint" }
  | { kind: "revoke" | "rotate"; key: Key }
  | { kind: "secret"; key: KeyWithSecret };

/** The keys of the project: mint, rotate, revoke. */
export function KeysPage() {
  const projectId = useProjectId();
  const project = useProject();
  const mayManage = allows(project, "admin");
  const keys = useKeys(projectId);
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const close = () => setDialog(null);
  const showSecret = (key: KeyWithSecret) => setDialog({ kind: "secret", key });

  return (
    <Page
      title="Keys"
      context="A key lets a program record or read runs of this project."
      actions={
        mayManage && (
          <Button leftSection={<IconPlus size={14} />} onClick={() => setDialog({ kind: "mint" })}>
            New key
          </Button>
        )
      }
    >
      <KeyList query={keys} mayManage={mayManage} onDialog={setDialog} />
      {dialog?.kind === "mint" && <MintDialog projectId={projectId} onClose={close} onMinted={showSecret} />}
      {dialog?.kind === "revoke" && (
        <RevokeDialog target={dialog.key} projectId={projectId} onClose={close} />
      )}
      {dialog?.kind === "rotate" && (
        <RotateDialog target={dialog.key} projectId={projectId} onClose={close} onRotated={showSecret} />
      )}
      {dialog?.kind === "secret" && <SecretDialog minted={dialog.key} onClose={close} />}
    </Page>
  );
}

interface ListProps {
  query: ReturnType<typeof useKeys>;
  mayManage: boolean;
  onDialog: (dialog: Dialog) => void;
}

function KeyList({ query, mayManage, onDialog }: ListProps) {
  const now = useNow(30_000);
  if (query.isPending) {
    return (
      <Delayed>
        <Stack gap={6} aria-busy="true">
          {[0, 1, 2].map((row) => (
            <Skeleton key={row} h={36} />
          ))}
        </Stack>
      </Delayed>
    );
  }
  if (query.isError && !query.data)
    return <ProblemPanel error={query.error} onRetry={() => query.refetch()} />;

  const keys = sortKeys(query.data?.pages.flatMap((page) => page.data) ?? [], now);
  if (keys.length === 0) {
    return (
      <Text c="dimmed" py="xl" ta="center">
        No keys yet. An Ingest key is what an application needs to record its runs.
      </Text>
    );
  }
  return (
    <div className={classes.list}>
      <Table className={classes.table} verticalSpacing={6} highlightOnHover>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Name</Table.Th>
            <Table.Th>Key</Table.Th>
            <Table.Th>Scopes</Table.Th>
            <Table.Th ta="right">Created</Table.Th>
            <Table.Th ta="right">Last used</Table.Th>
            <Table.Th ta="right">Expires</Table.Th>
            <Table.Th w={40}>
              <VisuallyHidden>Actions</VisuallyHidden>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {keys.map((key) => (
            <KeyRow key={key.id} item={key} now={now} mayManage={mayManage} onDialog={onDialog} />
          ))}
        </Table.Tbody>
      </Table>
      {query.hasNextPage && (
        <Button
          variant="default"
          mt="sm"
          loading={query.isFetchingNextPage}
          onClick={() => query.fetchNextPage()}
        >
          More keys
        </Button>
      )}
    </div>
  );
}

interface RowProps {
  item: Key;
  now: number;
  mayManage: boolean;
  onDialog: (dialog: Dialog) => void;
}

function KeyRow({ item, now, mayManage, onDialog }: RowProps) {
  const state = keyState(item, now);
  return (
    <Table.Tr data-state={state} data-testid="key-row">
      <Table.Td data-cell="name">
        <Group gap={8} wrap="nowrap">
          <Text className={classes.name} title={item.name}>
            {item.name}
          </Text>
          {state !== "active" && (
            <Badge size="sm" variant="default" tt="none" flex="none">
              {state}
            </Badge>
          )}
        </Group>
      </Table.Td>
      <Table.Td data-cell="key">
        <Group gap={4} wrap="nowrap">
          <code className={classes.id}>lt_{item.public_id}</code>
          <CopyButton value={item.public_id} what="public id" />
        </Group>
      </Table.Td>
      <Table.Td data-cell="scopes">
        <Text size="xs" className={classes.scopes}>
          {item.scopes.join(", ")}
        </Text>
      </Table.Td>
      <Time label="Created" time={item.created_at} now={now} />
      <Time label="Last used" time={item.last_used_at} now={now} none="never" />
      <Table.Td
        data-cell="time"
        data-label={item.revoked_at ? undefined : "Expires"}
        title={item.expires_at ? formatTime(item.expires_at) : undefined}
      >
        {item.revoked_at ? (
          <span title={formatTime(item.revoked_at)}>revoked {formatAge(item.revoked_at, now)} ago</span>
        ) : item.expires_at ? (
          new Date(item.expires_at).toLocaleDateString()
        ) : (
          "never"
        )}
      </Table.Td>
      <Table.Td data-cell="actions">
        {mayManage && state !== "revoked" && (
          <Menu position="bottom-end">
            <Tooltip label="Actions">
              <Menu.Target>
                <ActionIcon variant="subtle" color="gray" size="sm" aria-label={`Actions for ${item.name}`}>
                  <IconDots size={16} />
                </ActionIcon>
              </Menu.Target>
            </Tooltip>
            <Menu.Dropdown>
              <Menu.Item
                leftSection={<IconRefresh size={15} />}
                onClick={() => onDialog({ kind: "rotate", key: item })}
              >
                Rotate
              </Menu.Item>
              <Menu.Item
                leftSection={<IconBan size={15} />}
                color="red"
                c="var(--lt-error-text)"
                onClick={() => onDialog({ kind: "revoke", key: item })}
              >
                Revoke
              </Menu.Item>
            </Menu.Dropdown>
          </Menu>
        )}
      </Table.Td>
    </Table.Tr>
  );
}

interface TimeProps {
  label: string;
  time: string | null;
  now: number;
  none?: string;
}

function Time({ label, time, now, none }: TimeProps) {
  return (
    <Table.Td data-cell="time" data-label={label} title={time ? formatTime(time) : undefined}>
      {time ? `${formatAge(time, now)} ago` : none}
    </Table.Td>
  );
}
