import { Button, Checkbox, TextInput } from "@mantine/core";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import type { Provider } from "@/api/types";
import { errorsBelow, type FormErrors } from "@/components/formErrors";
import { IconButton } from "@/components/IconButton";
import { CriteriaForm } from "./CriteriaForm";
import { familyHint } from "./families";
import { JudgeForm } from "./JudgeForm";
import classes from "./Panels.module.css";
import type { PanelContext } from "./panelContext";
import { type JudgeDraft, newJudge, type PanelDraft, promptVariables, withReadyMade } from "./panelDraft";
import { BELOW, ScaleEditor } from "./ScaleEditor";
import { TryPanel } from "./TryPanel";

/** More judges than a panel may have can't be added. */
const MAX_JUDGES = 10;

interface Props {
  panel: PanelDraft;
  number: number;
  context: PanelContext;
  errors: FormErrors;
  onChange: (panel: PanelDraft) => void;
  onRemove: () => void;
}

/** Judges whose votes make one score: what they judge by, on which scale, and how votes become a score. */
export function PanelEditor({ panel, number, context, errors, onChange, onRemove }: Props) {
  const { projectId, providers, catalog, targetModels } = context;
  const at = `body.panels[${number - 1}]`;
  const of = panel.name.trim() || `panel ${number}`;
  const set = (changed: Partial<PanelDraft>) => onChange({ ...panel, ...changed });
  const setJudge = (index: number, judge: JudgeDraft) => set({ judges: panel.judges.with(index, judge) });
  const hint = familyHint(
    panel.judges.map(({ model }) => model.model),
    targetModels,
  );
  const shown = ["name", "rubric", "prompt", "scale", "pass", "aggregate", "repeats", "escalation"].map(
    (member) => `${at}.${member}`,
  );
  const others = errorsBelow(errors, at, [
    ...shown,
    ...panel.judges.map((_, index) => `${at}.judges[${index}]`),
  ]);
  const variables = promptVariables(panel.kind, context.runs !== undefined);
  const judgeProps = { projectId, providers, errors };
  return (
    <section className={classes.panel} aria-label={`Panel ${of}`} data-testid="panel-editor">
      <div className={classes.panelHead}>
        <TextInput
          size="xs"
          label={panel.kind === "preference" ? "Name of the preference" : "Name of the score"}
          aria-label={`Name of panel ${number}`}
          placeholder="Name"
          maxLength={100}
          autoComplete="off"
          value={panel.name}
          onChange={(event) => set({ name: event.currentTarget.value })}
          error={errors[`${at}.name`]}
        />
        <IconButton label={`Remove panel ${of}`} icon={<IconTrash size={14} />} onClick={onRemove} />
      </div>
      <h3 className={classes.subheading}>Judged by</h3>
      <CriteriaForm
        projectId={projectId}
        of={of}
        criteria={panel.criteria}
        variables={variables}
        catalog={catalog}
        error={errors[`${at}.rubric`] ?? errors[`${at}.prompt`]}
        onChange={(criteria) => set({ criteria })}
        onReadyMade={panel.kind === "score" ? (ready) => onChange(withReadyMade(panel, ready)) : undefined}
      />
      {panel.kind === "preference" ? (
        <p className={classes.note}>
          Each judge sees the outputs of both sides in both orders, so each vote takes two calls. A side wins
          only if both orders agree; otherwise it is a tie.
        </p>
      ) : (
        <>
          <ScaleEditor
            of={of}
            scale={panel.scale}
            errors={errors}
            at={at}
            onChange={(scale) =>
              set({ scale, aggregate: scale.type === panel.scale.type ? panel.aggregate : "" })
            }
          />
          <Aggregation panel={panel} of={of} at={at} errors={errors} onChange={set} />
        </>
      )}
      <h3 className={classes.subheading}>Judges</h3>
      {panel.judges.map((judge, index) => (
        <JudgeForm
          key={judge.id}
          {...judgeProps}
          of={`judge ${index + 1} of ${of}`}
          judge={judge}
          at={`${at}.judges[${index}]`}
          onChange={(changed) => setJudge(index, changed)}
          onRemove={
            panel.judges.length > 1 ? () => set({ judges: panel.judges.toSpliced(index, 1) }) : undefined
          }
        />
      ))}
      {errors[`${at}.judges`] && <p className={classes.error}>{errors[`${at}.judges`]}</p>}
      {hint && <p className={classes.hint}>{hint}</p>}
      <Button
        size="compact-sm"
        variant="default"
        leftSection={<IconPlus size={13} />}
        disabled={panel.judges.length >= MAX_JUDGES}
        onClick={() => set({ judges: [...panel.judges, newJudge(otherProvider(panel, providers))] })}
      >
        {hint ? "Add a judge of another family" : "Judge"}
      </Button>
      {panel.kind === "score" && (
        <Escalation panel={panel} of={of} at={at} providers={providers} onChange={set}>
          {panel.escalation && (
            <JudgeForm
              {...judgeProps}
              of={`the escalation of ${of}`}
              judge={panel.escalation}
              at={`${at}.escalation`}
              onChange={(escalation) => set({ escalation })}
              onRemove={() => set({ escalation: null })}
            />
          )}
        </Escalation>
      )}
      {others.length > 0 && (
        <ul className={classes.errors} role="alert">
          {others.map((message) => (
            <li key={message}>{message}</li>
          ))}
        </ul>
      )}
      {panel.kind === "score" && <TryPanel panel={panel} of={of} context={context} />}
    </section>
  );
}

interface AggregationProps {
  panel: PanelDraft;
  of: string;
  at: string;
  errors: FormErrors;
  onChange: (changed: Partial<PanelDraft>) => void;
}

function Aggregation({ panel, of, at, errors, onChange }: AggregationProps) {
  return (
    <div className={classes.fields}>
      {panel.scale.type !== "categorical" && (
        <Checkbox
          size="xs"
          className={classes.wide}
          label="One judge that objects is enough"
          aria-label={`One judge of ${of} that objects is enough`}
          description="The lowest vote is the score. Else it is the majority, or the mean of grades and numbers."
          checked={panel.aggregate === "minimum"}
          onChange={(event) => onChange({ aggregate: event.currentTarget.checked ? "minimum" : "" })}
          error={errors[`${at}.aggregate`]}
        />
      )}
      <TextInput
        size="xs"
        label="Votes of each judge"
        aria-label={`Votes of each judge of ${of}`}
        inputWrapperOrder={BELOW}
        description="Several show how far a judge agrees with itself"
        inputMode="numeric"
        value={panel.repeats}
        onChange={(event) => onChange({ repeats: event.currentTarget.value })}
        error={errors[`${at}.repeats`]}
      />
    </div>
  );
}

interface EscalationProps {
  panel: PanelDraft;
  of: string;
  at: string;
  providers: readonly Provider[];
  onChange: (changed: Partial<PanelDraft>) => void;
  children: React.ReactNode;
}

function Escalation({ panel, of, providers, onChange, children }: EscalationProps) {
  if (panel.escalation === null) {
    return (
      <Button
        ml="xs"
        size="compact-sm"
        variant="default"
        leftSection={<IconPlus size={13} />}
        aria-label={`Judge for splits of ${of}`}
        onClick={() => onChange({ escalation: newJudge(otherProvider(panel, providers)) })}
      >
        Judge for splits
      </Button>
    );
  }
  return (
    <>
      <h3 className={classes.subheading}>Judge for splits</h3>
      <p className={classes.note}>
        Called only where the others split; its vote then decides. Choose a stronger model.
      </p>
      {children}
    </>
  );
}

/** A connection that no judge has yet; the first one in doubt. */
function otherProvider(panel: PanelDraft, providers: readonly Provider[]): Provider | undefined {
  const used = panel.judges.map(({ model }) => model.providerId);
  return providers.find(({ id }) => !used.includes(id)) ?? providers[0];
}
