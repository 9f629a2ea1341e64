import type { DatasetItem, Provider, ReadyMadeJudge } from "@/api/types";
import type { Sample } from "./samples";

/** What the panels of a form share. */
export interface PanelContext {
  projectId: string;
  providers: readonly Provider[];
  catalog: readonly ReadyMadeJudge[];
  /** Items of the dataset, to try judges on. */
  items: readonly DatasetItem[];
  /** Recorded runs to try judges on, of those that are judged one by one as they come. Undefined for items of a dataset. */
  runs?: readonly Sample[];
  datasetId: string | undefined;
  /** The models that are judged. */
  targetModels: readonly string[];
}
