import type { Provider } from "@/api/types";
import editor from "@/components/editor/Editor.module.css";
import { ErrorText } from "@/components/editor/ErrorText";
import { Disclosure } from "@/components/evaluation/Disclosure";
import { errorsBelow, type FormErrors } from "@/components/formErrors";
import { AddGrader } from "@/components/graders/AddGrader";
import { GraderCard } from "@/components/graders/GraderCard";
import type { GraderDraft } from "@/components/graders/graderDraft";
import { newGrader } from "@/components/graders/graders";
import { PanelsForm } from "@/components/panels/PanelsForm";
import type { PanelDraft } from "@/components/panels/panelDraft";
import type { ToolDraft } from "./newReplay";
import classes from "./Replays.module.css";
import { ToolPolicies } from "./ToolPolicies";

interface ToolsProps {
  names: readonly string[];
  tools: Record<string, ToolDraft>;
  errors: FormErrors;
  onChange: (tools: Record<string, ToolDraft>) => void;
}

/** What happens to calls of tools that the recording doesn't have. Nothing for a run without tools. */
export function ToolsSection({ names, tools, errors, onChange }: ToolsProps) {
  if (names.length === 0) return null;
  return (
    <section className={editor.section} aria-label="Tools">
      <h2>Tools</h2>
      <p className={classes.note}>
        Tool calls are answered from the recording. Choose what happens to calls that it doesn't have.
      </p>
      <Disclosure
        className={classes.details}
        summary={`Policies for ${names.length === 1 ? "1 tool" : `${names.length} tools`}`}
        testId="tool-policies"
      >
        <ToolPolicies names={names} tools={tools} errors={errors} onChange={onChange} />
      </Disclosure>
      {errorsBelow(errors, "body.tools").map((message) => (
        <ErrorText key={message}>{message}</ErrorText>
      ))}
    </section>
  );
}

interface OutcomeProps {
  projectId: string;
  providers: readonly Provider[];
  outcome: GraderDraft | null;
  panel: PanelDraft | null;
  errors: FormErrors;
  /** Says what is missing without a grader. */
  without?: string;
  onChange: (changed: { outcome: GraderDraft | null } | { panel: PanelDraft | null }) => void;
}

/** The grader, or the panel of judges, that says whether an attempt is good. */
export function OutcomeSection({
  projectId,
  providers,
  outcome,
  panel,
  errors,
  without = "Without a grader nobody knows. The verdict is then about what attempts did, said and cost. Add a grader to judge the answer.",
  onChange,
}: OutcomeProps) {
  return (
    <section className={editor.section} aria-label="Outcome">
      <h2>When is an attempt good?</h2>
      {outcome ? (
        <GraderCard
          grader={outcome}
          number={1}
          at="body.outcome"
          isNamed={false}
          items={[]}
          errors={errors}
          onChange={(changed) => onChange({ outcome: changed })}
          onRemove={() => onChange({ outcome: null })}
        />
      ) : (
        <>
          {!panel && (
            <>
              <p className={classes.note}>{without}</p>
              <AddGrader
                label="Grader of the answer"
                onAdd={(kind) => onChange({ outcome: newGrader(kind, []) })}
              />
            </>
          )}
          <PanelsForm
            projectId={projectId}
            providers={providers}
            panels={panel ? [panel] : []}
            taken={[]}
            mayPrefer={false}
            most={1}
            items={[]}
            runs={[]}
            datasetId={undefined}
            targetModels={[]}
            errors={atPanels(errors)}
            onChange={([changed]) => onChange({ panel: changed ?? null })}
          />
        </>
      )}
    </section>
  );
}

/** Errors of the only panel, where the form of several has them. */
function atPanels(errors: FormErrors): FormErrors {
  return Object.fromEntries(
    Object.entries(errors).map(([at, message]) => [
      at.replace(/^body\.panel(?=\.|$)/, "body.panels[0]"),
      message,
    ]),
  );
}
