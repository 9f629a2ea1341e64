import { Button } from "@mantine/core";
import { useRef, useState } from "react";
import { useGrade } from "@/api/comparisons";
import { writeJson } from "@/api/json";
import type { DatasetItem, GradeResult } from "@/api/types";
import { Code } from "@/components/Code";
import editor from "@/components/editor/Editor.module.css";
import { Disclosure } from "@/components/evaluation/Disclosure";
import { Score } from "@/components/evaluation/Output";
import type { FormErrors } from "@/components/formErrors";
import { ProblemPanel } from "@/components/ProblemPanel";
import type { Sample } from "@/components/panels/samples";
import { AddGrader } from "./AddGrader";
import { GraderCard } from "./GraderCard";
import classes from "./Graders.module.css";
import { type GraderDraft, readGrader } from "./graderDraft";
import { newGrader, ONLINE_KINDS } from "./graders";

interface Props {
  projectId: string;
  graders: GraderDraft[];
  items: readonly DatasetItem[];
  /** Recorded runs of those that are graded as they come, without a reference output. Undefined for items of a dataset. */
  runs?: readonly Sample[];
  errors: FormErrors;
  onChange: (graders: GraderDraft[]) => void;
}

/** What scores the outputs. Each grader is a metric. */
export function GradersForm({ projectId, graders, items, runs, errors, onChange }: Props) {
  const add = useRef<HTMLButtonElement>(null);
  return (
    <section className={editor.section} aria-label="Graders">
      <h2>Graders</h2>
      <p className={classes.note}>
        {runs
          ? "A grader gives the output of a run a score from 0 to 1, by a fixed rule. It calls no model and costs nothing."
          : "A grader gives each output a score from 0 to 1. Each one is a metric."}
      </p>
      {graders.map((grader, index) => (
        <GraderCard
          key={grader.id}
          grader={grader}
          number={index + 1}
          items={items}
          errors={errors}
          onChange={(changed) => onChange(graders.with(index, changed))}
          onRemove={() => {
            onChange(graders.toSpliced(index, 1));
            add.current?.focus();
          }}
        />
      ))}
      <AddGrader
        ref={add}
        label="Grader"
        kinds={runs && ONLINE_KINDS}
        onAdd={(kind) => onChange([...graders, newGrader(kind, graders)])}
      />
      {errors["body.graders"] && <p className={editor.error}>{errors["body.graders"]}</p>}
      {graders.length > 0 && <TryGraders projectId={projectId} graders={graders} items={items} runs={runs} />}
    </section>
  );
}

interface TryProps {
  projectId: string;
  graders: GraderDraft[];
  items: readonly DatasetItem[];
  runs: readonly Sample[] | undefined;
}

/** Grades a typed output for an item of the dataset, or of a run. Nothing is stored, and no model is called. */
function TryGraders({ projectId, graders, items, runs }: TryProps) {
  const grade = useGrade();
  const [item] = items;
  const [example] = runs ?? [];
  const filled = example ? example.sample.output : item?.reference_output;
  const [typed, setTyped] = useState<string | null>(null);
  const output = typed ?? (filled == null ? "" : typeof filled === "string" ? filled : writeJson(filled));
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
        ...(example && {
          input: example.sample.input,
          metadata: example.sample.metadata as Record<string, unknown>,
        }),
      },
    });
  return (
    <Disclosure className={classes.details} summary="Try the graders on an output" testId="try-graders">
      <p className={classes.note}>
        {example
          ? `Graded as an answer to the run “${example.name}”, whose output is filled in.`
          : runs
            ? "Type an output to grade."
            : item
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
