import { Button, Checkbox, Input, NumberInput, SegmentedControl, Select } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useRef } from "react";
import { Link } from "react-router";
import type { Provider } from "@/api/types";
import editor from "@/components/editor/Editor.module.css";
import { ErrorText } from "@/components/editor/ErrorText";
import { Disclosure } from "@/components/evaluation/Disclosure";
import type { FormErrors } from "@/components/formErrors";
import { EditCard } from "./EditCard";
import { broadestTarget, isTiming, type Level, newEdit } from "./edits";
import { type NewReplay, onlyOne, type Strength } from "./newReplay";
import classes from "./Replays.module.css";
import type { RunStep } from "./steps";
import type { useRecorded } from "./useRecorded";

type Loaded = ReturnType<typeof useRecorded>;

/** What is known of a step that isn't read yet. */
export const NOTHING: Loaded[number] = {
  recorded: { opened: null, span: null },
  isPending: false,
  error: null,
};

/** Descriptions of different lengths leave the fields in a line. */
export const ORDER: ("label" | "input" | "description" | "error")[] = [
  "label",
  "input",
  "description",
  "error",
];

interface EditsProps {
  projectId: string;
  draft: NewReplay;
  steps: readonly RunStep[];
  level: Level;
  loaded: Loaded;
  providers: readonly Provider[];
  errors: FormErrors;
  /** The edits are made in several runs. */
  isShared?: boolean;
  onChange: (changed: Pick<NewReplay, "edits">) => void;
  /** What is said above the edits. */
  children: React.ReactNode;
}

/** The edits of a replay or a batch. */
export function EditsSection(props: EditsProps) {
  const { projectId, draft, steps, level, loaded, providers, errors, isShared, onChange, children } = props;
  const { edits } = draft;
  const add = useRef<HTMLButtonElement>(null);
  return (
    <section className={editor.section} aria-label="Edits">
      <h2>Edits</h2>
      {children}
      {edits.map((edit, index) => (
        <EditCard
          key={edit.id}
          projectId={projectId}
          edit={edit}
          number={index + 1}
          steps={steps}
          level={level}
          loaded={loaded[index] ?? NOTHING}
          providerId={draft.providerId || onlyOne(providers)}
          errors={errors}
          isShared={isShared}
          onChange={(changed) => onChange({ edits: edits.with(index, changed) })}
          onRemove={() => {
            onChange({ edits: edits.toSpliced(index, 1) });
            add.current?.focus();
          }}
        />
      ))}
      <Button
        ref={add}
        size="compact-sm"
        variant="default"
        leftSection={<IconPlus size={13} />}
        disabled={edits.length >= 50}
        onClick={() => {
          const change = level === "structure" ? "timeout_ms" : "system_prompt";
          onChange({ edits: [...edits, newEdit(broadestTarget(steps), change)] });
        }}
      >
        Edit
      </Button>
      {errors["body.edits"] && <ErrorText>{errors["body.edits"]}</ErrorText>}
    </section>
  );
}

interface AttemptsProps {
  projectId: string;
  draft: NewReplay;
  strengths: readonly Strength[];
  /** The most attempts of a role. */
  most: number;
  providers: readonly Provider[];
  errors: FormErrors;
  onChange: (changed: Partial<NewReplay>) => void;
  /** More fields. */
  children?: React.ReactNode;
}

/** Who calls the models, how many attempts there are, and what they may cost. */
export function AttemptsSection(props: AttemptsProps) {
  const { projectId, draft, strengths, most, providers, errors, onChange, children } = props;
  // Attempts without a model are the same each time: their number is no choice.
  const callsModels = !isTiming(draft.edits);
  if (!callsModels && !children) return null;
  return (
    <section className={editor.section} aria-label="How to replay">
      <h2>How to replay</h2>
      <div className={classes.fields}>
        {callsModels && (
          <Select
            size="xs"
            label="Connection"
            description="Calls the models"
            inputWrapperOrder={ORDER}
            placeholder={providers.length === 0 ? "none set up" : "Choose a connection"}
            data={providers.map(({ id, name }) => ({ value: id, label: name }))}
            value={draft.providerId || onlyOne(providers) || null}
            onChange={(id) => onChange({ providerId: id ?? "" })}
            allowDeselect={false}
            error={errors["body.provider_id"]}
          />
        )}
        {children}
        {callsModels && (
          <NumberInput
            size="xs"
            label="Cost cap ($)"
            description="For all calls together"
            inputWrapperOrder={ORDER}
            placeholder="no cap"
            min={0}
            value={draft.maxCost}
            onChange={(value) => onChange({ maxCost: String(value) })}
            error={errors["body.max_cost_usd"]}
          />
        )}
      </div>
      {callsModels && (
        <Strengths draft={draft} strengths={strengths} most={most} errors={errors} onChange={onChange} />
      )}
      {callsModels && draft.maxCost !== "" && (
        <Checkbox
          mt="xs"
          size="xs"
          label="Allow models without a price under the cap"
          description="Their calls count as free, so the cap doesn't limit them."
          checked={draft.allowUnpriced}
          onChange={(event) => onChange({ allowUnpriced: event.currentTarget.checked })}
        />
      )}
      {callsModels && providers.length === 0 && (
        <p className={classes.note}>
          This project has no connection to a provider.{" "}
          <Link to={`/p/${projectId}/settings/providers`}>Add one</Link>, or edit timeouts and retries, which
          need none.
        </p>
      )}
    </section>
  );
}

type StrengthsProps = Pick<AttemptsProps, "draft" | "strengths" | "most" | "errors" | "onChange">;

/** How many attempts there are: one choice, and other numbers below it. */
function Strengths({ draft, strengths, most, errors, onChange }: StrengthsProps) {
  const number = (role: "controls" | "treatments", label: string, min: number) => (
    <NumberInput
      size="xs"
      label={label}
      min={min}
      max={most}
      clampBehavior="none"
      value={draft[role]}
      onChange={(value) => onChange({ [role]: String(value) })}
      error={errors[`body.${role}`] !== undefined}
    />
  );
  const key = ({ controls, treatments }: Pick<Strength, "controls" | "treatments">) =>
    `${controls}+${treatments}`;
  return (
    <>
      <Input.Wrapper
        size="xs"
        mt="xs"
        label="Attempts without and with the edits"
        labelElement="div"
        error={errors["body.controls"] ?? errors["body.treatments"]}
      >
        <SegmentedControl
          size="xs"
          display="flex"
          w="fit-content"
          aria-label="Attempts without and with the edits"
          data={strengths.map((one) => ({ value: key(one), label: one.label }))}
          value={key(draft)}
          onChange={(chosen) => {
            const one = strengths.find((strength) => key(strength) === chosen);
            if (one) onChange({ controls: one.controls, treatments: one.treatments });
          }}
        />
      </Input.Wrapper>
      <Disclosure summary="Other numbers" className={classes.details} testId="numbers">
        <div className={classes.fields}>
          {number("controls", "Without the edits", 0)}
          {number("treatments", "With the edits", 1)}
        </div>
      </Disclosure>
    </>
  );
}

/** How many fields need fixing before it can start. */
export function Wrong({ count }: { count: number }) {
  if (count === 0) return null;
  return (
    <p className={classes.note} role="alert">
      {count === 1 ? "1 field needs" : `${count} fields need`} fixing before it can start.
    </p>
  );
}
