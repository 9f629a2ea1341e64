import { Anchor, Badge, Button, Group, Menu, Select, Text } from "@mantine/core";
import { IconCopy, IconFileImport, IconFolder, IconPlus, IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import { Link } from "react-router";
import { usePrompts } from "@/api/prompts";
import type { Prompt } from "@/api/types";
import { Ago } from "@/components/Ago";
import { DataTable } from "@/components/DataTable";
import { EmptyHint } from "@/components/EmptyHint";
import { lastPart, pathOf } from "@/components/editor/names";
import { formatCount, NONE } from "@/components/format";
import { ListPage } from "@/components/ListPage";
import { PageHint } from "@/components/PageMessage";
import { PausedSearch } from "@/components/PausedSearch";
import { DangerItem, RowMenu } from "@/components/RowMenu";
import { useAddress } from "@/components/useAddress";
import { useNow } from "@/components/useNow";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { DeletePromptDialog } from "./DeletePromptDialog";
import { ImportDialog } from "./ImportDialog";
import { NewPromptDialog } from "./NewPromptDialog";
import classes from "./PromptsPage.module.css";

type OpenDialog = { kind: "new" | "import" } | { kind: "copy" | "delete"; prompt: Prompt };

type Row = { kind: "folder"; name: string; count: number } | { kind: "prompt"; prompt: Prompt };

/** The prompts of a project by folder, or those that a search or a tag finds in all folders. */
export function PromptsPage() {
  const projectId = useProjectId();
  const mayWrite = allows(useProject(), "prompts:write");
  const { params, set } = useAddress();
  const folder = params.get("folder") ?? "";
  const search = params.get("search") ?? "";
  const tag = params.get("tag") ?? "";
  const isFiltered = search !== "" || tag !== "";
  const query = usePrompts(
    projectId,
    isFiltered ? { search: search || undefined, tag: tag || undefined } : { folder: folder || "/" },
  );
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const close = () => setDialog(null);
  const now = useNow(30_000);

  const actions = mayWrite && (
    <>
      <Button
        variant="default"
        leftSection={<IconFileImport size={14} />}
        onClick={() => setDialog({ kind: "import" })}
      >
        Import
      </Button>
      <Button leftSection={<IconPlus size={14} />} onClick={() => setDialog({ kind: "new" })}>
        New prompt
      </Button>
    </>
  );
  // The list of prompts is empty in a folder that only has folders.
  const rowsQuery = {
    ...query,
    data: query.data && {
      ...query.data,
      pages: query.data.pages.map(({ data, folders }, index) => ({
        data: [
          ...(index === 0 ? folders : []).map(
            ({ name, prompts }): Row => ({ kind: "folder", name, count: prompts }),
          ),
          ...data.map((prompt): Row => ({ kind: "prompt", prompt })),
        ],
      })),
    },
  } as Parameters<typeof ListPage<Row>>[0]["query"];

  return (
    <>
      <ListPage<Row>
        title="Prompts"
        context={
          folder !== "" && !isFiltered ? (
            <Breadcrumb folder={folder} />
          ) : (
            "Versioned prompts that programs get by name. Aliases say which version is used."
          )
        }
        tools={
          <Tools
            search={search}
            tag={tag}
            known={query.data?.pages.flatMap((page) => page.data.flatMap(({ tags }) => tags)) ?? []}
            onSearch={(value) => set({ search: value }, true)}
            onTag={(value) => set({ tag: value }, true)}
          />
        }
        actions={actions}
        query={rowsQuery}
        what="prompts"
        rowHeight={36}
        emptyTitle={folder === "" ? "No prompts yet." : "This folder has no prompts."}
        emptyHint={
          folder === "" ? (
            <EmptyHint
              purpose="A prompt is a named, versioned set of messages, tools and settings for a model. Programs ask for an alias such as production, so you can change a prompt without a release."
              action={actions || <PageHint>Your role doesn't include creating prompts.</PageHint>}
            />
          ) : (
            <Button variant="default" component={Link} to="?">
              All prompts
            </Button>
          )
        }
        onClearFilters={isFiltered ? () => set({ search: null, tag: null }) : undefined}
      >
        {(rows) => (
          <DataTable
            label="Prompts"
            stacks
            rows={rows}
            rowKey={(row) => (row.kind === "folder" ? `/${row.name}` : row.prompt.id)}
            rowProps={(row) => ({ "data-testid": row.kind === "folder" ? "folder-row" : "prompt-row" })}
            columns={[
              {
                header: "Name",
                cell: (row) =>
                  row.kind === "folder" ? (
                    <Link
                      to={`?${new URLSearchParams({ folder: row.name })}`}
                      className={classes.name}
                      data-row-focus
                    >
                      <IconFolder size={15} stroke={1.6} aria-hidden="true" />
                      {lastPart(row.name)}
                    </Link>
                  ) : (
                    <Link
                      to={row.prompt.id}
                      className={classes.name}
                      title={row.prompt.description || undefined}
                      data-row-focus
                    >
                      {isFiltered ? row.prompt.name : lastPart(row.prompt.name)}
                    </Link>
                  ),
              },
              {
                header: "Latest",
                cell: (row) =>
                  row.kind === "folder" ? (
                    <Text inherit c="dimmed">
                      {row.count === 1 ? "1 prompt" : `${formatCount(row.count)} prompts`}
                    </Text>
                  ) : row.prompt.latest_version === null ? (
                    NONE
                  ) : (
                    `v${row.prompt.latest_version}`
                  ),
              },
              {
                header: "Aliases",
                ownLine: true,
                cell: (row) =>
                  row.kind === "prompt" &&
                  row.prompt.aliases.length > 0 && (
                    <Group gap={4}>
                      {row.prompt.aliases.map(({ alias, version }) => (
                        <Badge key={alias} size="sm" variant="default" tt="none">
                          {alias} v{version}
                        </Badge>
                      ))}
                    </Group>
                  ),
              },
              {
                header: "Tags",
                ownLine: true,
                cell: (row) =>
                  row.kind === "prompt" &&
                  row.prompt.tags.length > 0 && (
                    <Group gap={4}>
                      {row.prompt.tags.map((item) => (
                        <Button
                          key={item}
                          size="compact-xs"
                          variant="light"
                          color="gray"
                          c="var(--lt-text)"
                          fw={400}
                          title={`Show prompts with the tag ${item}`}
                          onClick={() => set({ tag: item })}
                        >
                          {item}
                        </Button>
                      ))}
                    </Group>
                  ),
              },
              {
                header: "Updated",
                number: true,
                cell: (row) => row.kind === "prompt" && <Ago time={row.prompt.updated_at} now={now} />,
              },
              {
                header: "Actions",
                hideHeader: true,
                cell: (row) =>
                  row.kind === "prompt" &&
                  mayWrite && (
                    <RowMenu name={row.prompt.name}>
                      <Menu.Item
                        leftSection={<IconCopy size={15} />}
                        onClick={() => setDialog({ kind: "copy", prompt: row.prompt })}
                      >
                        Duplicate…
                      </Menu.Item>
                      <DangerItem
                        icon={IconTrash}
                        onClick={() => setDialog({ kind: "delete", prompt: row.prompt })}
                      >
                        Delete…
                      </DangerItem>
                    </RowMenu>
                  ),
              },
            ]}
          />
        )}
      </ListPage>
      {dialog?.kind === "new" && <NewPromptDialog projectId={projectId} folder={folder} onClose={close} />}
      {dialog?.kind === "copy" && (
        <NewPromptDialog
          projectId={projectId}
          folder={folder}
          source={{ prompt: dialog.prompt, version: dialog.prompt.latest_version }}
          onClose={close}
        />
      )}
      {dialog?.kind === "import" && <ImportDialog projectId={projectId} onClose={close} />}
      {dialog?.kind === "delete" && (
        <DeletePromptDialog prompt={dialog.prompt} onClose={close} onDeleted={close} />
      )}
    </>
  );
}

function Breadcrumb({ folder }: { folder: string }) {
  const path = pathOf(folder);
  return (
    <nav aria-label="Folder" className={classes.path}>
      <Anchor component={Link} to="?" inherit>
        All prompts
      </Anchor>
      {path.map(({ name, folder: target }, index) => (
        <span key={target}>
          <span aria-hidden="true"> / </span>
          {index === path.length - 1 ? (
            <span aria-current="page">{name}</span>
          ) : (
            <Anchor component={Link} to={`?${new URLSearchParams({ folder: target })}`} inherit>
              {name}
            </Anchor>
          )}
        </span>
      ))}
    </nav>
  );
}

interface ToolsProps {
  search: string;
  tag: string;
  /** Tags of the prompts in view. */
  known: string[];
  onSearch: (value: string) => void;
  onTag: (value: string | null) => void;
}

function Tools({ search, tag, known, onSearch, onTag }: ToolsProps) {
  const tags = [...new Set([...known, ...(tag === "" ? [] : [tag])])].sort();
  return (
    <search className={classes.tools}>
      <PausedSearch
        label="Search prompts"
        placeholder="Search names and descriptions in all folders"
        value={search}
        onChange={onSearch}
      />
      {tags.length > 0 && (
        <Select
          size="xs"
          w={140}
          aria-label="Tag"
          placeholder="Tag"
          data={tags}
          value={tag || null}
          onChange={onTag}
          clearable
          searchable={tags.length > 10}
        />
      )}
    </search>
  );
}
