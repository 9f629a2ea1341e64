import { Link } from "react-router";
import type { Comparison, ComparisonSide } from "@/api/types";
import { Changes } from "@/components/Changes";
import { CodeBlock } from "@/components/CodeBlock";
import { pretty } from "@/components/editor/draft";
import { MessageList } from "@/components/editor/MessageList";
import classes from "@/components/evaluation/Evaluation.module.css";
import { formatValue } from "@/components/evaluation/measures";
import { PanelsRead } from "@/components/evaluation/PanelsRead";
import { Fact, FactList } from "@/components/Fact";
import { formatCost, NONE } from "@/components/format";
import { useProjectId } from "@/components/useProject";
import { configChanges } from "./configChanges";

/** What was compared, and how: what differs between the sides comes first. */
export function ConfigurationTab({ comparison }: { comparison: Comparison }) {
  const { a, b, graders, equivalence_margin: margin, max_cost_usd: cap } = comparison;
  return (
    <div className={classes.body}>
      <section className={classes.block} aria-label="What differs">
        <h2 className={classes.heading}>What differs</h2>
        <Changes changes={configChanges(a, b)} before={`A (${a.name})`} after={`B (${b.name})`} />
      </section>
      <div className={classes.panels}>
        <Side letter="A" side={a} />
        <Side letter="B" side={b} />
      </div>
      <section className={classes.block} aria-label="How it is compared">
        <h2 className={classes.heading}>How it is compared</h2>
        <FactList>
          <Fact label="Repeats" value={String(comparison.repeats)} />
          <Fact label="Primary metric" value={comparison.primary_metric ?? NONE} />
          <Fact
            label="Equivalence margin"
            value={margin === null ? NONE : `${formatValue("score", margin)} points`}
            title={margin === null ? "Without it, A and B are never called equivalent" : undefined}
          />
          <Fact label="Stops early" value={comparison.stop_early ? "Yes" : "No"} />
          <Fact
            label="Incompatible items"
            value={comparison.on_incompatible === "skip" ? "Skipped" : "Refused"}
          />
          <Fact label="Cost cap" value={cap === null ? "None" : formatCost(cap)} />
          <Fact
            label="Models without a price"
            value={comparison.allow_unpriced ? "Allowed" : "Refused by a cap"}
          />
          <Fact label="Order seed" value={String(comparison.seed)} />
        </FactList>
        {comparison.panels.length > 0 && (
          <>
            <h3 className={classes.subheading}>Judges</h3>
            <PanelsRead panels={comparison.panels} />
          </>
        )}
        <h3 className={classes.subheading}>Graders</h3>
        {graders.length === 0 ? (
          <p className={classes.note}>None: outputs have no scores.</p>
        ) : (
          graders.map((grader) => (
            <div key={grader.name ?? grader.type} className={classes.grader}>
              <CodeBlock
                code={pretty(grader)}
                what={`grader ${grader.name ?? grader.type}`}
                maxHeight={220}
              />
            </div>
          ))
        )}
      </section>
    </div>
  );
}

function Side({ letter, side }: { letter: string; side: ComparisonSide }) {
  const projectId = useProjectId();
  if (side.eval_run_id !== null) {
    return (
      <section className={classes.panel} aria-label={`Configuration ${letter}`} data-testid="side">
        <h2 className={classes.heading}>
          {letter}: <bdi>{side.name}</bdi>
        </h2>
        <p className={classes.lead}>
          The outputs come from <Link to={`/p/${projectId}/eval-runs/${side.eval_run_id}`}>an eval-run</Link>.
        </p>
      </section>
    );
  }
  const { model: _, provider_id: __, ...parameters } = side.model_config;
  const variables = Object.entries(side.variables_map);
  return (
    <section className={classes.panel} aria-label={`Configuration ${letter}`} data-testid="side">
      <h2 className={classes.heading}>
        {letter}: <bdi>{side.name}</bdi>
      </h2>
      <FactList>
        <Fact label="Connection" value={side.provider?.name} />
        <Fact label="Model" value={side.model} title={side.model ?? undefined} />
        <Fact
          label="Prompt"
          value={
            side.prompt ? (
              <Link to={`/p/${projectId}/prompts/${side.prompt.id}?version=${side.prompt.version}`}>
                {side.prompt.name} v{side.prompt.version}
              </Link>
            ) : (
              "Own messages"
            )
          }
        />
        <Fact
          label="Variables from"
          value={
            variables.length === 0
              ? "The input"
              : variables.map(([name, path]) => `${name}: ${path}`).join(", ")
          }
          title={variables.map(([name, path]) => `${name}: ${path}`).join("\n")}
        />
      </FactList>
      <h3 className={classes.subheading}>Messages</h3>
      <MessageList messages={side.messages ?? []} isTemplate={side.template_format === "mustache"} />
      <h3 className={classes.subheading}>Parameters</h3>
      {Object.keys(parameters).length === 0 ? (
        <p className={classes.note}>The provider's defaults.</p>
      ) : (
        <CodeBlock code={pretty(parameters)} what={`parameters of ${letter}`} maxHeight={220} />
      )}
      {side.tools && side.tools.length > 0 && (
        <>
          <h3 className={classes.subheading}>Tools</h3>
          <CodeBlock code={pretty(side.tools)} what={`tools of ${letter}`} maxHeight={220} />
        </>
      )}
      {side.response_format != null && (
        <>
          <h3 className={classes.subheading}>Response format</h3>
          <CodeBlock
            code={pretty(side.response_format)}
            what={`response format of ${letter}`}
            maxHeight={220}
          />
        </>
      )}
    </section>
  );
}
