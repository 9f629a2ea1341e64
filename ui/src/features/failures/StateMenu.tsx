import { Menu, TextInput } from "@mantine/core";
import { IconBellOff, IconCheck, IconRotate } from "@tabler/icons-react";
import { useState } from "react";
import type { FailureDecision, FailureState } from "@/api/types";
import { FormDialog } from "@/components/FormDialog";
import { MUTES } from "./states";

interface Props {
  state: FailureState;
  onDecide: (decision: FailureDecision) => void;
  onResolveWithNote: () => void;
  /** The button that opens the menu. */
  children: React.ReactElement;
}

/** What can be done with a group: resolve, mute or reopen it. */
export function StateMenu({ state: { state }, onDecide, onResolveWithNote, children }: Props) {
  return (
    <Menu position="bottom-end">
      <Menu.Target>{children}</Menu.Target>
      <Menu.Dropdown>
        {state !== "resolved" && (
          <>
            <Menu.Item leftSection={<IconCheck size={15} />} onClick={() => onDecide({ state: "resolved" })}>
              Resolve
            </Menu.Item>
            <Menu.Item leftSection={<IconCheck size={15} />} onClick={onResolveWithNote}>
              Resolve with a note…
            </Menu.Item>
          </>
        )}
        {state !== "open" && (
          <Menu.Item leftSection={<IconRotate size={15} />} onClick={() => onDecide({ state: "open" })}>
            {state === "muted" ? "Unmute" : "Reopen"}
          </Menu.Item>
        )}
        {state !== "muted" && (
          <>
            <Menu.Divider />
            <Menu.Label>Mute</Menu.Label>
            {MUTES.map(({ label, decision }) => (
              <Menu.Item
                key={label}
                leftSection={<IconBellOff size={15} />}
                onClick={() => onDecide(decision(Date.now()))}
              >
                {label}
              </Menu.Item>
            ))}
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}

interface NoteDialogProps {
  mutation: { isPending: boolean; error: Error | null };
  onResolve: (note: string) => void;
  onClose: () => void;
}

/** Resolves a group with a note that everybody of the project sees. */
export function NoteDialog({ mutation, onResolve, onClose }: NoteDialogProps) {
  const [note, setNote] = useState("");
  return (
    <FormDialog
      title="Resolve this failure"
      action="Resolve"
      mutation={mutation}
      onSubmit={() => onResolve(note)}
      onClose={onClose}
    >
      <TextInput
        label="Note"
        description="Everyone in the project sees it. If a later run fails in the same way, the failure is shown as regressed."
        placeholder="Fixed in release 1.4"
        maxLength={500}
        data-autofocus
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
