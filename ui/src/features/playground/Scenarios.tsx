import { Button, Menu, TextInput } from "@mantine/core";
import { IconBookmark, IconPencil, IconTrash } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { fetchScenario, useDeleteScenario, useSaveScenario, useScenarios } from "@/api/playground";
import { ApiError, whyOf } from "@/api/problem";
import type { Scenario, ScenarioContent, ScenarioSummary } from "@/api/types";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { FormDialog } from "@/components/FormDialog";
import { FirstItem } from "@/components/RowMenu";

interface Props {
  projectId: string;
  current: Pick<ScenarioSummary, "id" | "name"> | null;
  /** Null while there is nothing to save: a prompt isn't loaded. */
  content: ScenarioContent | null;
  mayWrite: boolean;
  onLoad: (scenario: Scenario) => void;
  onCurrent: (scenario: Pick<ScenarioSummary, "id" | "name"> | null) => void;
}

type OpenDialog =
  | { kind: "save" }
  | { kind: "rename" | "delete"; scenario: Pick<ScenarioSummary, "id" | "name"> };

/** Saves messages and variables under a name, and loads them. */
export function Scenarios({ projectId, current, content, mayWrite, onLoad, onCurrent }: Props) {
  const [isOpen, setOpen] = useState(false);
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const list = useScenarios(projectId, isOpen);
  const save = useSaveScenario(projectId);
  const remove = useDeleteScenario(projectId);
  const load = useMutation({ mutationFn: fetchScenario, onSuccess: onLoad });
  const close = () => {
    save.reset();
    remove.reset();
    setDialog(null);
  };
  return (
    <>
      <Menu position="bottom-end" opened={isOpen} onChange={setOpen} width={280}>
        <Menu.Target>
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<IconBookmark size={14} />}
            loading={load.isPending}
          >
            {current?.name ?? "Scenarios"}
          </Button>
        </Menu.Target>
        <Menu.Dropdown mah={420} style={{ overflow: "auto" }}>
          {mayWrite && (
            <>
              {current && (
                <FirstItem
                  disabled={content === null}
                  onClick={() => content && save.mutate({ id: current.id, name: current.name, content })}
                >
                  Save “{current.name}”
                </FirstItem>
              )}
              <FirstItem disabled={content === null} onClick={() => setDialog({ kind: "save" })}>
                Save as new scenario…
              </FirstItem>
              {current && (
                <>
                  <Menu.Item
                    leftSection={<IconPencil size={15} />}
                    onClick={() => setDialog({ kind: "rename", scenario: current })}
                  >
                    Rename…
                  </Menu.Item>
                  <Menu.Item
                    leftSection={<IconTrash size={15} />}
                    color="red"
                    c="var(--lt-error-text)"
                    onClick={() => setDialog({ kind: "delete", scenario: current })}
                  >
                    Delete…
                  </Menu.Item>
                </>
              )}
              <Menu.Divider />
            </>
          )}
          <Menu.Label>
            {list.isPending
              ? "Loading…"
              : list.error
                ? whyOf(list.error)
                : list.data.data.length === 0
                  ? "No scenario saved yet"
                  : "Load"}
          </Menu.Label>
          {list.data?.data.map((scenario) => (
            <Menu.Item key={scenario.id} onClick={() => load.mutate(scenario.id)}>
              {scenario.name}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      <span role="status" aria-live="polite" style={{ fontSize: "var(--mantine-font-size-xs)" }}>
        {save.isSuccess && dialog === null ? "Scenario saved" : ""}
        {save.error && dialog === null ? `Not saved: ${whyOf(save.error)}` : ""}
        {load.error ? `Not loaded: ${whyOf(load.error)}` : ""}
      </span>
      {dialog?.kind === "save" && (
        <NameDialog
          title="Save as scenario"
          action="Save scenario"
          name=""
          mutation={save}
          onClose={close}
          onSubmit={(name) =>
            save.mutate(
              { id: null, name, content: content ?? { messages: [] } },
              {
                onSuccess: ({ id }) => {
                  onCurrent({ id, name });
                  setDialog(null);
                },
              },
            )
          }
        />
      )}
      {dialog?.kind === "rename" && (
        <NameDialog
          title={`Rename “${dialog.scenario.name}”`}
          action="Rename"
          name={dialog.scenario.name}
          mutation={save}
          onClose={close}
          onSubmit={(name) =>
            save.mutate(
              { id: dialog.scenario.id, name },
              {
                onSuccess: () => {
                  onCurrent({ id: dialog.scenario.id, name });
                  setDialog(null);
                },
              },
            )
          }
        />
      )}
      {dialog?.kind === "delete" && (
        <ConfirmDialog
          title={`Delete the scenario “${dialog.scenario.name}”?`}
          action="Delete scenario"
          mutation={remove}
          onClose={close}
          onConfirm={() =>
            remove.mutate(dialog.scenario.id, {
              onSuccess: () => {
                onCurrent(null);
                close();
              },
            })
          }
        >
          It's deleted for everyone in the project. The playground keeps its contents.
        </ConfirmDialog>
      )}
    </>
  );
}

interface NameDialogProps {
  title: string;
  action: string;
  name: string;
  mutation: { isPending: boolean; error: Error | null; reset: () => void };
  onSubmit: (name: string) => void;
  onClose: () => void;
}

function NameDialog({ title, action, name: known, mutation, onSubmit, onClose }: NameDialogProps) {
  const [name, setName] = useState(known);
  const problem = mutation.error instanceof ApiError ? mutation.error : null;
  const isTaken = problem?.problem?.code === "name_taken";
  return (
    <FormDialog
      title={title}
      action={action}
      mutation={mutation}
      onSubmit={() => onSubmit(name.trim())}
      onClose={onClose}
      disabled={name.trim() === "" || name.trim() === known}
      hideError={isTaken}
    >
      <TextInput
        label="Name"
        data-autofocus
        maxLength={100}
        autoComplete="off"
        value={name}
        onChange={(event) => {
          mutation.reset();
          setName(event.currentTarget.value);
        }}
        error={
          isTaken ? "This project already has a scenario with this name." : problem?.fieldMessage("body.name")
        }
      />
    </FormDialog>
  );
}
