import { Link } from "react-router";
import type { JudgeRead, PanelRead } from "@/api/types";
import { CodeBlock } from "@/components/CodeBlock";
import { pretty } from "@/components/editor/draft";
import { MessageList } from "@/components/editor/MessageList";
import { Fact, FactList } from "@/components/Fact";
import { AGGREGATES, type Aggregate } from "@/components/panels/panelDraft";
import { RecordedText } from "@/components/RecordedText";
import { useProjectId } from "@/components/useProject";
import { Disclosure } from "./Disclosure";
import classes from "./Evaluation.module.css";
import { passText, scaleText } from "./scale";
import own from "./Trust.module.css";

/** The panels of an evaluation: what they judge by, on which scale, and with which models. */
export function PanelsRead({ panels }: { panels: readonly PanelRead[] }) {
  return panels.map((panel) => {
    const [first] = panel.judges;
    const judges = [...panel.judges, ...(panel.escalation ? [panel.escalation] : [])];
    return (
      <section key={panel.name} className={`${own.panel} ${own.facts}`} aria-label={`Panel ${panel.name}`}>
        <h3 className={own.title}>
          <bdi>{panel.name}</bdi>
        </h3>
        <FactList>
          {panel.kind === "preference" ? (
            <Fact label="Votes on" value="Which side is better, in both orders" />
          ) : (
            <>
              <Fact label="Scale" value={first && scaleText(first.scale)} />
              <Fact label="Passes" value={first && passText(first.scale, first.pass)} />
              <Fact
                label="Votes become a score by"
                value={AGGREGATES[panel.aggregate as Aggregate]?.label ?? panel.aggregate}
                title={AGGREGATES[panel.aggregate as Aggregate]?.description}
              />
            </>
          )}
        </FactList>
        {judges.map((judge) => (
          <Judge key={judge.name} judge={judge} isEscalation={judge === panel.escalation} />
        ))}
      </section>
    );
  });
}

interface JudgeProps {
  judge: JudgeRead;
  isEscalation: boolean;
}

function Judge({ judge, isEscalation }: JudgeProps) {
  const projectId = useProjectId();
  const { model, provider_id: _, ...parameters } = judge.model_config;
  return (
    <div className={classes.grader}>
      <h4 className={classes.subheading}>
        <bdi>{judge.name}</bdi>
        {isEscalation && <span className={classes.tag}>for splits</span>}
      </h4>
      <FactList>
        <Fact label="Connection" value={judge.provider_name} />
        <Fact label="Model" value={model} title={model} />
        <Fact label="Votes for each output" value={String(judge.repeats)} />
        {judge.prompt && (
          <Fact
            label="Prompt"
            value={
              <Link to={`/p/${projectId}/prompts/${judge.prompt.id}?version=${judge.prompt.version}`}>
                {judge.prompt.name} v{judge.prompt.version}
              </Link>
            }
          />
        )}
        {judge.ready_made !== null && <Fact label="Ready-made" value={judge.ready_made} />}
      </FactList>
      {judge.rubric !== null && (
        <Disclosure summary="Rubric">
          <RecordedText text={judge.rubric} what={`rubric of ${judge.name}`} plain />
        </Disclosure>
      )}
      {judge.messages && (
        <Disclosure summary="Messages">
          <MessageList messages={judge.messages} isTemplate />
        </Disclosure>
      )}
      {Object.keys(parameters).length > 0 && (
        <Disclosure summary="Parameters">
          <CodeBlock code={pretty(parameters)} what={`parameters of ${judge.name}`} maxHeight={220} />
        </Disclosure>
      )}
    </div>
  );
}
