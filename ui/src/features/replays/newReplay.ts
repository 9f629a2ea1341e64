import type { ReplayDraft } from "@/api/replays";
import type { Provider, ReplayEdit, ReplayTool } from "@/api/types";
import { type FormErrors, readNumber } from "@/components/formErrors";
import { type GraderDraft, readGrader } from "@/components/graders/graderDraft";
import type { PanelDraft } from "@/components/panels/panelDraft";
import { readPanels } from "@/components/panels/readPanels";
import { type EditDraft, isTiming } from "./edits";

/** What happens to calls of a tool that the recording has no answer for. */
export interface ToolDraft {
  onMiss: ReplayTool["on_miss"];
  /** Empty: as recorded, else write. */
  sideEffects: "" | "read" | "write";
  drop: string[];
  result: string;
}

export const emptyTool: ToolDraft = { onMiss: "stop", sideEffects: "", drop: [], result: "" };

/** A replay while it is made. Numbers are texts. */
export interface NewReplay {
  edits: EditDraft[];
  /** Empty: the only one. */
  providerId: string;
  controls: string;
  treatments: string;
  tools: Record<string, ToolDraft>;
  outcome: GraderDraft | null;
  /** Judges instead of a grader. */
  panel: PanelDraft | null;
  /** Dollars; empty for none. */
  maxCost: string;
  allowUnpriced: boolean;
}

/** How many attempts a replay has, as a choice. */
export interface Strength {
  controls: string;
  treatments: string;
  label: string;
}

export const STRENGTHS: readonly [Strength, ...Strength[]] = [
  { controls: "5", treatments: "4", label: "5 + 4: clear effects" },
  { controls: "10", treatments: "10", label: "10 + 10: smaller effects" },
];

export function emptyReplay(edits: EditDraft[]): NewReplay {
  const [{ controls, treatments }] = STRENGTHS;
  return {
    edits,
    providerId: "",
    controls,
    treatments,
    tools: {},
    outcome: null,
    panel: null,
    maxCost: "",
    allowUnpriced: false,
  };
}

/** The most attempts of a role that a replay has. */
export const MOST_ATTEMPTS = 100;

/** The request of a replay. Null while something is wrong, which `errors` says, those of the edits among them. */
export function replayRequest(
  projectId: string,
  runId: string,
  draft: NewReplay,
  edits: readonly (ReplayEdit | null)[],
  editErrors: FormErrors,
): { body: ReplayDraft | null; errors: FormErrors } {
  const errors: FormErrors = { ...editErrors };
  const attempts = readAttempts(projectId, draft, edits, errors, MOST_ATTEMPTS);
  return { body: attempts && { run_id: runId, ...attempts }, errors };
}

/** What a request says of the attempts of a run. Null while something is wrong, which `errors` says. */
export function readAttempts(
  projectId: string,
  draft: NewReplay,
  edits: readonly (ReplayEdit | null)[],
  errors: FormErrors,
  most: number,
): (Omit<ReplayDraft, "run_id"> & { project_id: string }) | null {
  const whole = (at: string, text: string, min: number) =>
    readNumber(
      errors,
      at,
      text,
      (n) => Number.isInteger(n) && n >= min && n <= most,
      `A whole number from ${min} to ${most}.`,
    );
  const controls = whole("body.controls", draft.controls, 0);
  const treatments = whole("body.treatments", draft.treatments, 1);
  const maxCost = readNumber(
    errors,
    "body.max_cost_usd",
    draft.maxCost,
    (n) => n > 0,
    "Enter an amount above 0.",
  );
  const [outcome] = draft.outcome ? readGrader(draft.outcome, "body.outcome", errors) : [];
  const [panel] = draft.panel ? readPanels([draft.panel], [], errors) : [];
  const tools = Object.entries(draft.tools).flatMap(([name, tool]): [string, ReplayTool][] => {
    const policy = readTool(tool);
    return policy ? [[name, policy]] : [];
  });
  const read = edits.filter((edit) => edit !== null);
  if (Object.keys(errors).length > 0 || read.length < edits.length) return null;
  return {
    project_id: projectId,
    edits: read,
    ...(draft.providerId !== "" && !isTiming(draft.edits) && { provider_id: draft.providerId }),
    ...(controls !== undefined && { controls }),
    ...(treatments !== undefined && { treatments }),
    ...(tools.length > 0 && { tools: Object.fromEntries(tools) }),
    ...(outcome && { outcome: { ...outcome, name: outcome.name || "outcome" } }),
    ...(panel && { panel }),
    ...(maxCost !== undefined && { max_cost_usd: maxCost }),
    ...(draft.allowUnpriced && { allow_unpriced: true }),
  };
}

/** The policy of a tool; null if it is the default. */
function readTool({ onMiss, sideEffects, drop, result }: ToolDraft): ReplayTool | null {
  if (onMiss === "stop" && sideEffects === "" && drop.length === 0) return null;
  return {
    on_miss: onMiss,
    ...(sideEffects !== "" && { side_effects: sideEffects }),
    ...(drop.length > 0 && { drop }),
    ...(onMiss === "fixed" && { result }),
  };
}

/** The id of the only connection, which needs no choice; empty if there are none or several. */
export function onlyOne(providers: readonly Provider[]): string {
  return providers.length === 1 ? (providers[0]?.id ?? "") : "";
}
