import { useMemo } from "react";
import { usePromptVersionsOf } from "@/api/prompts";
import { type Draft, readDraft } from "@/components/editor/draft";
import { valuesOf } from "@/components/editor/preview";
import {
  choicesOf,
  inputsOf,
  type Play,
  type Prepared,
  prepare,
  promptModelOf,
  sourceOf,
  toolNames,
  type Versions,
  versionKey,
} from "./play";

/** What follows from the playground: the versions of its prompts, its variables, and the request of each column. */
export function useColumns(projectId: string, play: Play) {
  const { versions: loaded, error } = usePromptVersionsOf(choicesOf(play));
  const versions: Versions = useMemo(
    () =>
      new Map(
        loaded.map((version) => [versionKey({ id: version.prompt_id, version: version.version }), version]),
      ),
    [loaded],
  );
  const sources = useMemo(
    () => play.columns.map((column) => sourceOf(play, column, versions)),
    [play, versions],
  );
  const promptModels = useMemo(
    () => play.columns.map((column) => promptModelOf(play, column, versions)),
    [play, versions],
  );
  const prepared: Prepared[] = useMemo(
    () => play.columns.map((column) => prepare(projectId, play, column, versions)),
    [projectId, play, versions],
  );
  const shared = useMemo(() => {
    const drafts: Draft[] = sources.filter((source) => source !== undefined);
    const inputs = inputsOf(drafts);
    const errors = drafts.map((draft) => readDraft(draft).errors);
    const values = valuesOf(inputs.variables, play.texts, inputs.placeholders, play.lists);
    return { ...inputs, tools: toolNames(drafts), errors, valueErrors: values.errors };
  }, [sources, play.texts, play.lists]);
  return { versions, error, sources, promptModels, prepared, ...shared };
}
