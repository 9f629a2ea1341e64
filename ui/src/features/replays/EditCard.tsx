import { Alert, Select } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import { useMemo } from "react";
import { whyOf } from "@/api/problem";
import { ErrorText } from "@/components/editor/ErrorText";
import { errorsBelow, type FormErrors } from "@/components/formErrors";
import { IconButton } from "@/components/IconButton";
import { EditDifference } from "./EditDifference";
import { EditValue } from "./EditValue";
import {
  CHANGES,
  type Change,
  changesOf,
  type EditDraft,
  type Level,
  sharedTargetsOf,
  targetSteps,
  targetsOf,
  withChange,
  withTarget,
} from "./edits";
import { GivenEdit } from "./GivenEdit";
import classes from "./Replays.module.css";
import type { RunStep } from "./steps";
import type { Loaded } from "./useRecorded";

interface Props {
  projectId: string;
  edit: EditDraft;
  number: number;
  steps: readonly RunStep[];
  level: Level;
  loaded: Loaded;
  /** The connection whose models can be chosen; empty for none. */
  providerId: string;
  errors: FormErrors;
  /** Whether it edits several runs, so that it can't name a step of one. */
  isShared?: boolean;
  onChange: (edit: EditDraft) => void;
  onRemove: () => void;
}

/** More targets are found by typing: long runs have thousands of steps. */
const LISTED = 200;

/** One edit: which steps, what of them, and the new value beside the recorded one. */
export function EditCard(props: Props) {
  const { edit, number, steps, level, loaded, errors, isShared = false, onChange, onRemove } = props;
  const at = `body.edits[${number - 1}]`;
  const possible = changesOf(edit.target, steps, level);
  const value = `${at}.set.${edit.change}`;
  const target = errorsBelow(errors, `${at}.target`).map((message) => message.replace(/^span_id: /, ""));
  const others = errorsBelow(errors, at, [`${at}.target`, value]);
  const targets = useMemo(() => (isShared ? sharedTargetsOf(steps) : targetsOf(steps)), [isShared, steps]);
  if (edit.given)
    return (
      <GivenEdit
        edit={edit}
        given={edit.given}
        number={number}
        errors={errorsBelow(errors, at)}
        onChange={onChange}
        onRemove={onRemove}
      />
    );
  const targeted = edit.target === "input" ? [] : targetSteps(edit.target, steps);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has a border and a width of its own
    <div className={classes.edit} role="group" aria-label={`Edit ${number}`} data-testid="edit">
      <div className={classes.editHead}>
        <div>
          <Select
            size="xs"
            label="Where"
            data={targets}
            limit={LISTED}
            value={edit.target}
            onChange={(chosen) => chosen && onChange(withTarget(edit, chosen, steps, level))}
            allowDeselect={false}
            searchable
            nothingFoundMessage="No step of this name or number"
            maxDropdownHeight={320}
            error={target.join("; ") || undefined}
            description={targeted.length > 1 ? `${targeted.length} recorded steps` : undefined}
            inputWrapperOrder={["label", "input", "description", "error"]}
          />
        </div>
        <div>
          <Select
            size="xs"
            label="What"
            data={possible.map((change) => ({ value: change, label: CHANGES[change].label }))}
            value={possible.includes(edit.change) ? edit.change : null}
            onChange={(change) => change && onChange(withChange(edit, change as Change))}
            allowDeselect={false}
            maxDropdownHeight={320}
            description={CHANGES[edit.change].hint}
            inputWrapperOrder={["label", "input", "description", "error"]}
            renderOption={({ option }) => (
              <span>
                {option.label}
                <span className={classes.optionHint}>{CHANGES[option.value as Change].hint}</span>
              </span>
            )}
          />
        </div>
        <IconButton label={`Remove edit ${number}`} icon={<IconTrash size={14} />} onClick={onRemove} />
      </div>
      {loaded.error && (
        <Alert variant="light" color="gray" p="xs" c="var(--lt-text)">
          The recorded value couldn't be read: {whyOf(loaded.error)}
        </Alert>
      )}
      <EditValue {...props} recorded={loaded.recorded} />
      {errorsBelow(errors, value).map((message) => (
        <ErrorText key={message}>{message}</ErrorText>
      ))}
      {others.map((message) => (
        <ErrorText key={message}>{message}</ErrorText>
      ))}
      <EditDifference edit={edit} steps={targeted} recorded={loaded.recorded} />
    </div>
  );
}
