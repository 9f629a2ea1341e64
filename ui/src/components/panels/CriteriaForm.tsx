import { Button, SegmentedControl, Select, Textarea } from "@mantine/core";
import { Fragment } from "react";
import type { ReadyMadeJudge } from "@/api/types";
import { PromptPicker } from "@/components/PromptPicker";
import classes from "./Panels.module.css";
import type { Criteria } from "./panelDraft";

interface Props {
  projectId: string;
  /** Whose it is, for screen readers: "correctness" or "gpt". */
  of: string;
  criteria: Criteria;
  /** Those that a prompt gets. */
  variables: readonly string[];
  /** Those to start from. */
  catalog: readonly ReadyMadeJudge[];
  error?: string;
  onChange: (criteria: Criteria) => void;
  /** Takes the rubric and the scale of a ready-made judge. */
  onReadyMade?: (ready: ReadyMadeJudge) => void;
}

/** What judges are told to look at: a rubric that can be read and changed, or a prompt of the registry. */
export function CriteriaForm(props: Props) {
  const { projectId, of, criteria, variables, catalog, error, onChange, onReadyMade } = props;
  const { prompt, rubric, readyMade } = criteria;
  const isChanged = readyMade !== null && readyMade.rubric !== rubric;
  return (
    <div className={classes.criteria}>
      <div className={classes.row}>
        <SegmentedControl
          size="xs"
          aria-label={`What ${of} judges by`}
          value={prompt ? "prompt" : "rubric"}
          onChange={(kind) =>
            onChange({ ...criteria, prompt: kind === "prompt" ? { id: "", name: "", version: 0 } : null })
          }
          data={[
            { value: "rubric", label: "Rubric" },
            { value: "prompt", label: "Saved prompt" },
          ]}
        />
        {!prompt && onReadyMade && catalog.length > 0 && (
          <Select
            size="xs"
            w={220}
            aria-label={`Ready-made judge for ${of}`}
            placeholder="Start from a ready-made one"
            data={catalog.map(({ id, title }) => ({ value: id, label: title }))}
            value={readyMade?.id ?? null}
            onChange={(id) => {
              const ready = catalog.find((one) => one.id === id);
              if (ready) onReadyMade(ready);
            }}
            allowDeselect={false}
          />
        )}
      </div>
      {prompt ? (
        <>
          <PromptPicker
            projectId={projectId}
            value={prompt.id === "" ? null : prompt}
            onChange={(choice) =>
              onChange({ ...criteria, prompt: choice ?? { id: "", name: "", version: 0 } })
            }
            label={`Prompt of ${of}`}
            placeholder="Choose a prompt"
          />
          <p className={classes.note}>
            It gets{" "}
            {variables.map((name, index) => (
              <Fragment key={name}>
                {index > 0 && (index < variables.length - 1 ? ", " : " and ")}
                <code>{`{{${name}}}`}</code>
              </Fragment>
            ))}
            , each between delimiters that recorded text can't forge, so that it can't give orders.
          </p>
          {error && <p className={classes.error}>{error}</p>}
        </>
      ) : (
        <>
          <Textarea
            size="xs"
            aria-label={`Rubric of ${of}`}
            placeholder="Describe what is good and what isn't, what each value of the scale means, and what to ignore, such as length."
            autosize
            minRows={4}
            maxRows={18}
            maxLength={20_000}
            value={rubric}
            onChange={(event) => onChange({ ...criteria, rubric: event.currentTarget.value })}
            error={error}
          />
          {readyMade && (
            <p className={classes.note}>
              {isChanged ? (
                <>
                  Changed from the ready-made judge “{readyMade.title}”.{" "}
                  <Button
                    size="compact-xs"
                    variant="default"
                    onClick={() => onChange({ ...criteria, rubric: readyMade.rubric })}
                  >
                    Reset
                  </Button>
                </>
              ) : (
                <>
                  {readyMade.description} {needsText(readyMade)}
                </>
              )}
            </p>
          )}
        </>
      )}
    </div>
  );
}

/** What a ready-made judge can't do without. */
function needsText({ needs }: ReadyMadeJudge): string {
  const words = {
    input: "an input",
    reference_output: "a reference output",
    tool_calls: "recorded tool calls",
  };
  return needs.length === 0 ? "" : `It needs ${needs.map((need) => words[need]).join(" and ")}.`;
}
