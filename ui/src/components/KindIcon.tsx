import {
  type Icon,
  IconArrowsSort,
  IconCircleDashed,
  IconDatabaseSearch,
  IconGauge,
  IconListCheck,
  IconMessage2,
  IconRobot,
  IconShieldCheck,
  IconSitemap,
  IconSquareDashed,
  IconTool,
  IconVector,
} from "@tabler/icons-react";

const icons: Record<string, Icon> = {
  agent: IconRobot,
  workflow: IconSitemap,
  task: IconListCheck,
  llm: IconMessage2,
  tool: IconTool,
  retriever: IconDatabaseSearch,
  embedding: IconVector,
  reranker: IconArrowsSort,
  guardrail: IconShieldCheck,
  evaluator: IconGauge,
  span: IconCircleDashed,
};

/** The kinds that the API names. Spans may have others. */
export const KINDS = Object.keys(icons);

/** The icon of a kind, with its name for screen readers and on hover. */
export function KindIcon({ kind, size = 16 }: { kind: string; size?: number }) {
  const Shape = icons[kind] ?? IconSquareDashed;
  return (
    <span role="img" aria-label={kind} title={kind} style={{ display: "inline-flex", flex: "none" }}>
      <Shape size={size} stroke={1.6} aria-hidden="true" />
    </span>
  );
}
