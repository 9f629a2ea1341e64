import { Button, Group, Menu, Stack, Text, TextInput } from "@mantine/core";
import {
  IconBookmark,
  IconBookmarkFilled,
  IconCheck,
  IconChevronDown,
  IconPencil,
  IconPlus,
  IconRefresh,
  IconTrash,
} from "@tabler/icons-react";
import { useState } from "react";
import { ApiError } from "@/api/problem";
import type { View, ViewPage } from "@/api/types";
import { useCreateView, useDeleteView, useUpdateView, useViews } from "@/api/views";
import { Dialog } from "@/components/Dialog";
import { ProblemPanel } from "@/components/ProblemPanel";
import { allows, useProject, useProjectId } from "@/components/useProject";
import classes from "./FilterBar.module.css";
import { isSameQuery, viewQuery } from "./filters";

interface Props {
  page: ViewPage;
  params: URLSearchParams;
  onChange: (params: URLSearchParams) => void;
}

type Question = { kind: "save" } | { kind: "rename" | "delete"; view: View };

/** The saved views of a page: one to go to, and what may be done with the one that is open. */
export function SavedViews({ page, params, onChange }: Props) {
  const projectId = useProjectId();
  const mayWrite = allows(useProject(), "runs:write");
  const query = useViews(projectId);
  const update = useUpdateView(projectId);
  const [dialog, setDialog] = useState<Question | null>(null);
  const [openedId, setOpenedId] = useState<string>();
  const views = query.data?.filter((view) => view.page === page) ?? [];
  const current = views.find((view) => isSameQuery(view.query, params));
  // A view that was opened and then changed can take the change over.
  const changed = current ? undefined : views.find((view) => view.id === openedId);
  const isEmpty = viewQuery(params) === "";
  const open = (view: View) => {
    setOpenedId(view.id);
    onChange(new URLSearchParams(view.query));
  };
  return (
    <>
      <Menu position="bottom-end" width={280}>
        <Menu.Target>
          <Button
            className={classes.views}
            size="xs"
            variant="default"
            leftSection={
              current ? (
                <IconBookmarkFilled size={13} aria-hidden="true" />
              ) : (
                <IconBookmark size={13} aria-hidden="true" />
              )
            }
            rightSection={<IconChevronDown size={13} aria-hidden="true" />}
            aria-label={current ? `Views: ${current.name}` : "Views"}
          >
            <span className={classes.viewName}>{current?.name ?? "Views"}</span>
          </Button>
        </Menu.Target>
        <Menu.Dropdown className={classes.viewMenu}>
          <Menu.Label>Saved views of the project</Menu.Label>
          {query.isError && !query.data ? (
            <Menu.Item onClick={() => query.refetch()} closeMenuOnClick={false}>
              They could not be loaded. Retry
            </Menu.Item>
          ) : views.length === 0 ? (
            <Text size="xs" c="dimmed" px="sm" pb="xs">
              None yet. A view keeps the filters under a name, for everybody here.
            </Text>
          ) : (
            views.map((view) => (
              <Menu.Item
                key={view.id}
                onClick={() => open(view)}
                title={author(view)}
                rightSection={view === current ? <IconCheck size={14} aria-label="open" /> : null}
              >
                {view.name}
              </Menu.Item>
            ))
          )}
          {mayWrite && (
            <>
              <Menu.Divider />
              {changed && (
                <Menu.Item
                  leftSection={<IconRefresh size={15} />}
                  onClick={() => update.mutate({ id: changed.id, body: { query: viewQuery(params) } })}
                >
                  Save changes to “{changed.name}”
                </Menu.Item>
              )}
              <Menu.Item
                leftSection={<IconPlus size={15} />}
                disabled={isEmpty || current !== undefined}
                onClick={() => setDialog({ kind: "save" })}
              >
                Save as a view…
              </Menu.Item>
              {current && (
                <>
                  <Menu.Item
                    leftSection={<IconPencil size={15} />}
                    onClick={() => setDialog({ kind: "rename", view: current })}
                  >
                    Rename…
                  </Menu.Item>
                  <Menu.Item
                    leftSection={<IconTrash size={15} />}
                    color="red"
                    c="var(--lt-error-text)"
                    onClick={() => setDialog({ kind: "delete", view: current })}
                  >
                    Delete…
                  </Menu.Item>
                </>
              )}
            </>
          )}
        </Menu.Dropdown>
      </Menu>
      {update.isError && (
        <Dialog onClose={() => update.reset()} title="The view was not saved">
          <ProblemPanel error={update.error} />
        </Dialog>
      )}
      {dialog?.kind === "save" && (
        <NameDialog
          projectId={projectId}
          page={page}
          query={viewQuery(params)}
          onClose={(made) => {
            setDialog(null);
            if (made) setOpenedId(made.id);
          }}
        />
      )}
      {dialog?.kind === "rename" && (
        <NameDialog
          projectId={projectId}
          page={page}
          query={dialog.view.query}
          view={dialog.view}
          onClose={() => setDialog(null)}
        />
      )}
      {dialog?.kind === "delete" && (
        <DeleteDialog projectId={projectId} view={dialog.view} onClose={() => setDialog(null)} />
      )}
    </>
  );
}

function author(view: View): string {
  return view.created_by ? `by ${view.created_by}` : "by a key, or by somebody who is gone";
}

interface NameProps {
  projectId: string;
  page: ViewPage;
  query: string;
  /** The view that gets another name; without it a new one is made. */
  view?: View;
  onClose: (made?: View) => void;
}

function NameDialog({ projectId, page, query, view, onClose }: NameProps) {
  const create = useCreateView(projectId);
  const update = useUpdateView(projectId);
  const [name, setName] = useState(view?.name ?? "");
  const mutation = view ? update : create;
  const error = mutation.error;
  const taken = error instanceof ApiError && error.status === 409;
  const message = taken
    ? "A view of this page has this name."
    : error instanceof ApiError && error.fieldMessage("body.name");
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    if (view) update.mutate({ id: view.id, body: { name } }, { onSuccess: onClose });
    else create.mutate({ page, name, query }, { onSuccess: onClose });
  };
  return (
    <Dialog onClose={() => onClose()} title={view ? `Rename “${view.name}”` : "Save as a view"}>
      <form onSubmit={submit}>
        <Stack gap="md">
          <TextInput
            label="Name"
            description={view ? undefined : "Everybody in the project sees it."}
            required
            withAsterisk={false}
            data-autofocus
            maxLength={100}
            value={name}
            onChange={(event) => {
              mutation.reset();
              setName(event.currentTarget.value);
            }}
            error={message || undefined}
          />
          {error && !message && <ProblemPanel error={error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={() => onClose()}>
              Cancel
            </Button>
            <Button type="submit" loading={mutation.isPending} disabled={name.trim() === ""}>
              {view ? "Rename" : "Save view"}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

function DeleteDialog({ projectId, view, onClose }: { projectId: string; view: View; onClose: () => void }) {
  const remove = useDeleteView(projectId);
  return (
    <Dialog onClose={onClose} title={`Delete the view “${view.name}”?`}>
      <Stack gap="md">
        <Text size="sm">
          It goes for everybody in the project, {author(view)}. The runs stay, and so do links to the filters.
        </Text>
        {remove.isError && <ProblemPanel error={remove.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            Cancel
          </Button>
          <Button
            color="red.9"
            loading={remove.isPending}
            onClick={() => remove.mutate(view.id, { onSuccess: onClose })}
          >
            Delete view
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
