import { ApiError } from "@/api/problem";
import { useDeletePrompt } from "@/api/prompts";
import type { Prompt } from "@/api/types";
import { ConfirmDialog } from "@/components/ConfirmDialog";

interface Props {
  prompt: Prompt;
  onClose: () => void;
  onDeleted: () => void;
}

/** Asks before a prompt is deleted, and names what goes with it. */
export function DeletePromptDialog({ prompt, onClose, onDeleted }: Props) {
  const remove = useDeletePrompt(prompt);
  const guarded = prompt.aliases.filter((alias) => alias.protected).map(({ alias }) => alias);
  const versions = prompt.latest_version ?? 0;
  const parts = [
    versions === 0 ? "no versions" : versions === 1 ? "its version" : `its ${versions} versions`,
    ...(prompt.aliases.length === 0
      ? []
      : [
          `the ${prompt.aliases.length === 1 ? "alias" : "aliases"} ${prompt.aliases.map(({ alias }) => alias).join(", ")}`,
        ]),
  ];
  const isRefused = remove.error instanceof ApiError && remove.error.problem?.code === "alias_protected";
  return (
    <ConfirmDialog
      title={`Delete the prompt “${prompt.name}”?`}
      action="Delete prompt"
      mutation={remove}
      disabled={guarded.length > 0}
      onConfirm={() => remove.mutate(undefined, { onSuccess: onDeleted })}
      onClose={onClose}
    >
      {guarded.length > 0 || isRefused ? (
        <>
          {guarded.length === 0
            ? "An alias is protected, so the prompt can't be deleted. "
            : `${guarded.join(", ")} ${guarded.length === 1 ? "is" : "are"} protected, so the prompt can't be deleted. `}
          An admin can end the protection on the tab Aliases.
        </>
      ) : (
        <>
          This deletes {versions === 0 ? "a prompt with no versions" : parts.join(" and ")}. Programs that ask
          for the prompt get an error from then on. Runs keep the name and version that they recorded. You
          can't undo it.
        </>
      )}
    </ConfirmDialog>
  );
}
