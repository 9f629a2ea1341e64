import { Button, Menu, TextInput } from "@mantine/core";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import { useGrade } from "@/api/comparisons";
import { writeJson } from "@/api/json";
import type { DatasetItem, GradeResult } from "@/api/types";
import { Code } from "@/components/Code";
import editor from "@/components/editor/Editor.module.css";
import { Disclosure } from "@/components/evaluation/Disclosure";
import { Score } from "@/components/evaluation/Output";
import { IconButton } from "@/components/IconButton";
import { ProblemPanel } from "@/components/ProblemPanel";
import classes from "./ComparisonForm.module.css";
import { GRADER_KINDS, newGrader } from "./graders";
import { errorsBelow, type FormErrors, type GraderDraft, readGrader } from "./newComparison";

interface Props {
  projectId: string;
  graders: GraderDraft[];
  items: readonly DatasetItem[];
  errors: FormErrors;
  onChange: (graders: GraderDraft[]) => void;
}

/** What scores the outputs. Each grader is a metric. */
export function GradersForm({ projectId, graders, items, errors, onChange }: Props) {
  return (
    <section className={editor.section} aria-label="Graders">
      <h2>Graders</h2>
      <p className={classes.note}>
        A grader gives each output a score from 0 to 1. Each one is a metric, and the first is the primary one
        unless you choose another below.
      </p>
      {graders.map((grader, index) => (
        <Grader
          key={grader.id}
          grader={grader}
          number={index + 1}
          errors={errors}
          onChange={(changed) => onChange(graders.with(index, changed))}
          onRemove={() => onChange(graders.toSpliced(index, 1))}
        />
      ))}
      <Menu position="bottom-start">
        <Menu.Target>
          <Button size="compact-sm" variant="default" leftSection={<IconPlus size={13} />}>
            Grader
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {GRADER_KINDS.map((kind) => (
            <Menu.Item key={kind.label} onClick={() => onChange([...graders, newGrader(kind, graders)])}>
              {kind.label}
              <span className={classes.kindHint}>{kind.description}</span>
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {errors["body.graders"] && <p className={editor.error}>{errors["body.graders"]}</p>}
      {graders.length > 0 && <TryGraders projectId={projectId} graders={graders} items={items} />}
    </section>
  );
}

interface GraderProps {
  grader: GraderDraft;
  number: number;
  errors: FormErrors;
  onChange: (grader: GraderDraft) => void;
  onRemove: () => void;
}

function Grader({ grader, number, errors, onChange, onRemove }: GraderProps) {
  const at = `body.graders[${number - 1}]`;
  const messages = errorsBelow(errors, at, [`${at}.name`]);
  return (
    <div className={classes.grader} data-testid="grader">
      <div className={classes.graderHead}>
        <TextInput
          size="xs"
          aria-label={`Name of grader ${number}`}
          placeholder="Name"
          maxLength={100}
          autoComplete="off"
          value={grader.name}
          onChange={(event) => onChange({ ...grader, name: event.currentTarget.value })}
          error={errors[`${at}.name`]}
        />
        <IconButton label={`Remove grader ${number}`} icon={<IconTrash size={14} />} onClick={onRemove} />
      </div>
      <Code
        label={`Definition of grader ${number}`}
        language="json"
        minHeight={40}
        maxHeight={300}
        value={grader.json}
        onChange={(json) => onChange({ ...grader, json })}
      />
      {messages.length > 0 && (
        <ul className={classes.errors} role="alert">
          {messages.map((message) => (
            <li key={message}>{message}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

interface TryProps {
  projectId: string;
  graders: GraderDraft[];
  items: readonly DatasetItem[];
}

/** Grades a typed output for an item of the dataset. Nothing is stored, and no model is called. */
function TryGraders({ projectId, graders, items }: TryProps) {
  const grade = useGrade();
  const [item] = items;
  const reference = item?.reference_output;
  const [typed, setTyped] = useState<string | null>(null);
  const output =
    typed ?? (reference == null ? "" : typeof reference === "string" ? reference : writeJson(reference));
  const errors: FormErrors = {};
  const definitions = graders.flatMap((grader, index) => readGrader(grader, String(index), errors));
  const isValid = definitions.length === graders.length;
  const run = () =>
    grade.mutate({
      project_id: projectId,
      graders: definitions,
      sample: {
        output,
        ...(item && {
          input: item.input,
          reference_output: item.reference_output,
          metadata: item.metadata as Record<string, unknown>,
        }),
      },
    });
  return (
    <Disclosure className={classes.details} summary="Try the graders on an output" testId="try-graders">
      <p className={classes.note}>
        {item
          ? `Graded as an answer to ${item.key ?? "the first item"} of the dataset, whose reference output is filled in.`
          : "Choose a dataset to grade with the reference output of its first item."}
      </p>
      <Code
        label="Output to grade"
        language="text"
        minHeight={40}
        maxHeight={200}
        value={output}
        onChange={setTyped}
      />
      <Button
        mt="xs"
        size="compact-sm"
        variant="default"
        loading={grade.isPending}
        disabled={!isValid}
        onClick={run}
      >
        Grade
      </Button>
      {grade.error && <ProblemPanel error={grade.error} />}
      {grade.data && <Results result={grade.data} />}
    </Disclosure>
  );
}

function Results({ result }: { result: GradeResult }) {
  return (
    <ul className={classes.results} aria-label="Scores of the graders">
      {result.scores.map((score) => (
        <Score key={score.name} score={score} />
      ))}
    </ul>
  );
}
