import { Select, TagsInput, Textarea } from "@mantine/core";
import { ErrorText } from "@/components/editor/ErrorText";
import { errorsBelow, type FormErrors } from "@/components/formErrors";
import { emptyTool, type ToolDraft } from "./newReplay";
import classes from "./Replays.module.css";

export const ON_MISS: Record<ToolDraft["onMiss"], string> = {
  stop: "End the attempt",
  nearest: "Answer with the most similar recorded call",
  fixed: "Answer with a fixed result",
};

interface Props {
  names: readonly string[];
  tools: Record<string, ToolDraft>;
  errors: FormErrors;
  onChange: (tools: Record<string, ToolDraft>) => void;
}

/** For each tool, what happens to calls that the recording has no answer for. No tool is executed. */
export function ToolPolicies({ names, tools, errors, onChange }: Props) {
  return (
    <div className={classes.tools}>
      {names.map((name) => {
        const tool = tools[name] ?? emptyTool;
        const at = `body.tools.${name}`;
        const change = (changed: Partial<ToolDraft>) =>
          onChange({ ...tools, [name]: { ...tool, ...changed } });
        return (
          <div key={name} className={classes.tool} data-testid="tool-policy" data-tool={name}>
            <h3>
              <bdi>{name}</bdi>
            </h3>
            <div className={classes.fields}>
              <Select
                size="xs"
                label="Calls that weren't recorded"
                aria-label={`Calls of ${name} that were not recorded`}
                data={Object.entries(ON_MISS).map(([value, label]) => ({ value, label }))}
                value={tool.onMiss}
                onChange={(onMiss) => onMiss && change({ onMiss: onMiss as ToolDraft["onMiss"] })}
                allowDeselect={false}
                description={tool.onMiss === "nearest" ? "This weakens the verdict." : undefined}
                inputWrapperOrder={["label", "input", "description", "error"]}
                error={errors[`${at}.on_miss`]}
              />
              <Select
                size="xs"
                label="Side effects"
                aria-label={`Whether ${name} has side effects`}
                placeholder="as recorded, else writes"
                data={[
                  { value: "read", label: "Only reads" },
                  { value: "write", label: "Writes" },
                ]}
                value={tool.sideEffects || null}
                onChange={(value) => change({ sideEffects: (value ?? "") as ToolDraft["sideEffects"] })}
                clearable
                clearButtonProps={{ "aria-label": `Clear: whether ${name} has side effects` }}
                error={errors[`${at}.side_effects`]}
              />
              <TagsInput
                size="xs"
                label="Ignored arguments"
                aria-label={`Ignored arguments of ${name}`}
                placeholder={tool.drop.length === 0 ? "request_id" : undefined}
                value={tool.drop}
                onChange={(drop) => change({ drop })}
              />
            </div>
            {tool.onMiss === "fixed" && (
              <Textarea
                size="xs"
                mt={6}
                label="Result"
                aria-label={`Fixed result of ${name}`}
                autosize
                minRows={2}
                maxRows={10}
                value={tool.result}
                onChange={(event) => change({ result: event.currentTarget.value })}
                error={errors[`${at}.result`]}
              />
            )}
            {errorsBelow(
              errors,
              at,
              ["on_miss", "side_effects", "result"].map((member) => `${at}.${member}`),
            ).map((message) => (
              <ErrorText key={message}>{message}</ErrorText>
            ))}
          </div>
        );
      })}
    </div>
  );
}
