export const VIEWS = [
  { value: "tree", label: "Tree" },
  { value: "transcript", label: "Transcript" },
  { value: "graph", label: "Graph" },
  { value: "agent", label: "Agent view" },
] as const;

export type View = (typeof VIEWS)[number]["value"];

/** The view in the address. The tree by default. */
export function viewOf(name: string | null): View {
  return VIEWS.find((view) => view.value === name)?.value ?? "tree";
}
