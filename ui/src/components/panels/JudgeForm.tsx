import { Autocomplete, Button, Select, TextInput } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import { useMemo } from "react";
import { useProviderModels } from "@/api/providers";
import type { Provider } from "@/api/types";
import { ModelParameters } from "@/components/editor/ModelParameters";
import { Disclosure } from "@/components/evaluation/Disclosure";
import { errorsBelow, type FormErrors } from "@/components/formErrors";
import { IconButton } from "@/components/IconButton";
import classes from "./Panels.module.css";
import type { JudgeDraft } from "./panelDraft";

interface Props {
  projectId: string;
  /** What it is called for screen readers: "judge 2 of correctness". */
  of: string;
  judge: JudgeDraft;
  providers: readonly Provider[];
  errors: FormErrors;
  /** Its location. */
  at: string;
  onChange: (judge: JudgeDraft) => void;
  /** Undefined: it can't be removed. */
  onRemove?: () => void;
}

/** One judge: a model, and what it has that the panel has not. */
export function JudgeForm(props: Props) {
  const { projectId, of, judge, providers, errors, at, onChange, onRemove } = props;
  const { model } = judge;
  const models = useProviderModels(projectId, model.providerId);
  const modelNames = useMemo(() => [...new Set(models.data?.data.map(({ id }) => id) ?? [])], [models.data]);
  const shown = ["name", "provider_id", "model_config"].map((member) => `${at}.${member}`);
  const others = errorsBelow(errors, at, shown);
  return (
    <section className={classes.judge} aria-label={of} data-testid="judge-form">
      <div className={classes.judgeFields}>
        <Select
          size="xs"
          label="Connection"
          aria-label={`Connection of ${of}`}
          placeholder="Choose one"
          data={providers.map(({ id, name }) => ({ value: id, label: name }))}
          value={model.providerId || null}
          onChange={(value) => onChange({ ...judge, model: { ...model, providerId: value ?? "" } })}
          allowDeselect={false}
          error={errors[`${at}.provider_id`]}
        />
        <Autocomplete
          size="xs"
          label="Model"
          aria-label={`Model of ${of}`}
          placeholder="Model"
          maxLength={200}
          limit={50}
          data={modelNames}
          value={model.model}
          onChange={(value) => onChange({ ...judge, model: { ...model, model: value } })}
          error={errors[`${at}.model_config.model`]}
        />
        <TextInput
          size="xs"
          label="Name"
          aria-label={`Name of ${of}`}
          placeholder={model.model || "the model"}
          maxLength={100}
          autoComplete="off"
          value={judge.name}
          onChange={(event) => onChange({ ...judge, name: event.currentTarget.value })}
          error={errors[`${at}.name`]}
        />
        {onRemove && <IconButton label={`Remove ${of}`} icon={<IconTrash size={14} />} onClick={onRemove} />}
      </div>
      <div className={classes.judgeMore}>
        <Disclosure className={classes.details} summary="Parameters">
          <ModelParameters
            model={model}
            tools={[]}
            errors={parameterErrors(errors, at)}
            onChange={(changed) => onChange({ ...judge, model: changed })}
          />
        </Disclosure>
        {(judge.own !== null || judge.repeats !== "") && (
          <Button
            size="compact-xs"
            variant="default"
            aria-label={`Use those of the panel for ${of}`}
            onClick={() => onChange({ ...judge, own: null, repeats: "" })}
          >
            It has its own {ownText(judge)}: use those of the panel
          </Button>
        )}
      </div>
      {others.length > 0 && (
        <ul className={classes.errors} role="alert">
          {others.map((message) => (
            <li key={message}>{message}</li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** What it took from a stored panel. A form has one rubric and one number of repeats for all judges. */
function ownText({ own, repeats }: JudgeDraft): string {
  return [...(own === null ? [] : ["rubric"]), ...(repeats === "" ? [] : ["repeats"])].join(" and ");
}

/** The errors of parameters, at their fields. */
function parameterErrors(errors: FormErrors, at: string) {
  const prefix = `${at}.model_config.`;
  return Object.entries(errors)
    .filter(([location]) => location.startsWith(prefix))
    .map(([location, message]) => ({ at: location.slice(prefix.length), message }));
}
