import { Button, Menu, Text, TextInput } from "@mantine/core";
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
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { Dialog } from "@/components/Dialog";
import { FormDialog } from "@/components/FormDialog";
import { ProblemPanel } from "@/components/ProblemPanel";
import { DangerItem, FirstItem } from "@/components/RowMenu";
import { allows, useProject, useProjectId } from "@/components/useProject";
import classes from "./FilterBar.module.css";
import { isSameQuery, viewParams, viewQuery } from "./filters";

interface Props {
  page: ViewPage;
  params: URLSearchParams;
  onChange: (params: URLSearchParams) => void;
}

type OpenDialog = { kind: "save" } | { kind: "rename" | "delete"; view: View };

/** The saved views of a page: open, save, rename and delete them. */
export function SavedViews({ page, params, onChange }: Props) {
  const projectId = useProjectId();
  const mayWrite = allows(useProject(), "runs:write");
  const query = useViews(projectId);
  const update = useUpdateView(projectId);
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const [openedId, setOpenedId] = useState<string>();
  const views = query.data?.filter((view) => view.page === page) ?? [];
  const current = views.find((view) => isSameQuery(view.query, params));
  // After changing the filters of an opened view, the reader can save them to it.
  const changed = current ? undefined : views.find((view) => view.id === openedId);
  const isEmpty = params.size === 0;
  const open = (view: View) => {
    setOpenedId(view.id);
    onChange(viewParams(view.query));
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
          <Menu.Label>Saved views</Menu.Label>
          {query.isError && !query.data ? (
            <Menu.Item onClick={() => query.refetch()} closeMenuOnClick={false}>
              Couldn't load the views. Retry
            </Menu.Item>
          ) : views.length === 0 ? (
            <Text size="xs" c="dimmed" px="sm" pb="xs">
              No saved views yet. A view saves the filters under a name, for everyone in the project.
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
              <FirstItem
                leftSection={<IconPlus size={15} />}
                disabled={isEmpty || current !== undefined}
                onClick={() => setDialog({ kind: "save" })}
              >
                Save view…
              </FirstItem>
              {current && (
                <>
                  <Menu.Item
                    leftSection={<IconPencil size={15} />}
                    onClick={() => setDialog({ kind: "rename", view: current })}
                  >
                    Rename…
                  </Menu.Item>
                  <DangerItem icon={IconTrash} onClick={() => setDialog({ kind: "delete", view: current })}>
                    Delete…
                  </DangerItem>
                </>
              )}
            </>
          )}
        </Menu.Dropdown>
      </Menu>
      {update.isError && (
        <Dialog onClose={() => update.reset()} title="Couldn't save the view">
          <ProblemPanel error={update.error} />
        </Dialog>
      )}
      {dialog?.kind === "save" && (
        <NameDialog
          projectId={projectId}
          page={page}
          query={viewQuery(params)}
          onClose={(saved) => {
            setDialog(null);
            if (saved) setOpenedId(saved.id);
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
  return view.created_by ? `created by ${view.created_by}` : "created with a key or by a deleted user";
}

interface NameProps {
  projectId: string;
  page: ViewPage;
  query: string;
  /** The view to rename. Without it, a new view is saved. */
  view?: View;
  onClose: (saved?: View) => void;
}

function NameDialog({ projectId, page, query, view, onClose }: NameProps) {
  const create = useCreateView(projectId);
  const update = useUpdateView(projectId);
  const [name, setName] = useState(view?.name ?? "");
  const mutation = view ? update : create;
  const error = mutation.error instanceof ApiError ? mutation.error : null;
  const message =
    error?.status === 409 ? "This page already has a view with this name." : error?.fieldMessage("body.name");
  const submit = () => {
    if (view) update.mutate({ id: view.id, body: { name } }, { onSuccess: onClose });
    else create.mutate({ page, name, query }, { onSuccess: onClose });
  };
  return (
    <FormDialog
      title={view ? `Rename “${view.name}”` : "Save view"}
      action={view ? "Rename" : "Save view"}
      mutation={mutation}
      onSubmit={submit}
      onClose={() => onClose()}
      disabled={name.trim() === ""}
      hideError={message !== undefined}
    >
      <TextInput
        label="Name"
        description={view ? undefined : "Everyone in the project sees this view."}
        required
        withAsterisk={false}
        data-autofocus
        maxLength={100}
        value={name}
        onChange={(event) => {
          mutation.reset();
          setName(event.currentTarget.value);
        }}
        error={message}
      />
    </FormDialog>
  );
}

function DeleteDialog({ projectId, view, onClose }: { projectId: string; view: View; onClose: () => void }) {
  const remove = useDeleteView(projectId);
  return (
    <ConfirmDialog
      title={`Delete the view “${view.name}”?`}
      action="Delete view"
      mutation={remove}
      onConfirm={() => remove.mutate(view.id, { onSuccess: onClose })}
      onClose={onClose}
    >
      The view, {author(view)}, is deleted for everyone in the project. The runs stay.
    </ConfirmDialog>
  );
}
