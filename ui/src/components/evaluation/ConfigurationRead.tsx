import { Link } from "react-router";
import type { ComparisonSide } from "@/api/types";
import { CodeBlock } from "@/components/CodeBlock";
import { pretty } from "@/components/editor/draft";
import { MessageList } from "@/components/editor/MessageList";
import { Fact, FactList } from "@/components/Fact";
import { useProjectId } from "@/components/useProject";
import classes from "./Evaluation.module.css";

interface Props {
  config: ComparisonSide;
  /** Whose it is, for screen readers: "A" or "the target". */
  of: string;
}

/** The configuration of a model that answered. */
export function ConfigurationRead({ config, of }: Props) {
  const projectId = useProjectId();
  const { model: _, provider_id: __, ...parameters } = config.model_config;
  const variables = Object.entries(config.variables_map).map(([name, path]) => `${name}: ${path}`);
  return (
    <>
      <FactList>
        <Fact label="Connection" value={config.provider?.name} />
        <Fact label="Model" value={config.model} title={config.model ?? undefined} />
        <Fact
          label="Prompt"
          value={
            config.prompt ? (
              <Link to={`/p/${projectId}/prompts/${config.prompt.id}?version=${config.prompt.version}`}>
                {config.prompt.name} v{config.prompt.version}
              </Link>
            ) : (
              "Own messages"
            )
          }
        />
        <Fact
          label="Variables from"
          value={variables.length === 0 ? "The input" : variables.join(", ")}
          title={variables.join("\n")}
        />
      </FactList>
      <h3 className={classes.subheading}>Messages</h3>
      <MessageList messages={config.messages ?? []} isTemplate={config.template_format === "mustache"} />
      <h3 className={classes.subheading}>Parameters</h3>
      {Object.keys(parameters).length === 0 ? (
        <p className={classes.note}>The provider's defaults.</p>
      ) : (
        <CodeBlock code={pretty(parameters)} what={`parameters of ${of}`} maxHeight={220} />
      )}
      {config.tools && config.tools.length > 0 && (
        <>
          <h3 className={classes.subheading}>Tools</h3>
          <CodeBlock code={pretty(config.tools)} what={`tools of ${of}`} maxHeight={220} />
        </>
      )}
      {config.response_format != null && (
        <>
          <h3 className={classes.subheading}>Response format</h3>
          <CodeBlock
            code={pretty(config.response_format)}
            what={`response format of ${of}`}
            maxHeight={220}
          />
        </>
      )}
    </>
  );
}
