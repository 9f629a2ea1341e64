import { Text } from "@mantine/core";
import type { PromptModelConfig, PromptVersion } from "@/api/types";
import { CodeBlock } from "@/components/CodeBlock";
import { DataTable } from "@/components/DataTable";
import { pretty, valueText } from "@/components/editor/draft";
import classes from "@/components/editor/Editor.module.css";
import { MessageList } from "@/components/editor/MessageList";
import { Fact, FactList } from "@/components/Fact";
import { NONE } from "@/components/format";

const FIELDS: [keyof PromptModelConfig, string][] = [
  ["model", "Model"],
  ["temperature", "Temperature"],
  ["top_p", "Top P"],
  ["max_output_tokens", "Max. output tokens"],
  ["stop", "Stop sequences"],
  ["seed", "Seed"],
  ["reasoning_effort", "Reasoning effort"],
  ["tool_choice", "Tool choice"],
  ["extra", "Other parameters"],
];

const MISSING = {
  error: "A variable without a value is an error.",
  keep: "The tag of a variable without a value stays as text.",
  empty: "A variable without a value renders as nothing.",
};

/** The content of a version, to read. */
export function VersionView({ version }: { version: PromptVersion }) {
  const variables = Object.entries(version.variables);
  const settings = FIELDS.filter(([member]) => version.model_config[member] !== undefined);
  return (
    <div className={classes.read} data-testid="version-view">
      <section className={classes.section} aria-label="Messages">
        <h2>Messages</h2>
        <MessageList messages={version.messages} isTemplate={version.template_format === "mustache"} />
      </section>
      {variables.length > 0 && (
        <section className={classes.section}>
          <h2>Variables</h2>
          <DataTable
            label="Variables"
            stacks
            rows={variables}
            rowKey={([name]) => name}
            columns={[
              { header: "Name", cell: ([name]) => <code>{name}</code> },
              { header: "Type", cell: ([, { type = "any" }]) => type },
              { header: "Required", cell: ([, { required = true }]) => (required ? "yes" : "no") },
              {
                header: "Default",
                cell: ([, variable]) =>
                  "default" in variable ? valueText(variable.default, variable.type ?? "any") : NONE,
              },
              {
                header: "Example",
                cell: ([, variable]) =>
                  "example" in variable ? valueText(variable.example, variable.type ?? "any") : NONE,
              },
              { header: "Description", ownLine: true, cell: ([, { description }]) => description },
            ]}
          />
        </section>
      )}
      {version.tools.length > 0 && (
        <section className={classes.section} aria-label="Tools">
          <h2>Tools</h2>
          <CodeBlock code={pretty(version.tools)} what="tools" maxHeight={420} />
        </section>
      )}
      {version.response_format !== null && (
        <section className={classes.section} aria-label="Response format">
          <h2>Response format</h2>
          <CodeBlock code={pretty(version.response_format)} what="response format" maxHeight={420} />
        </section>
      )}
      <section className={classes.section} aria-label="Model settings">
        <h2>Model</h2>
        {settings.length === 0 ? (
          <Text size="sm" c="dimmed">
            Not set. The program chooses the model.
          </Text>
        ) : (
          <FactList>
            {settings.map(([member, label]) => (
              <Fact key={member} label={label} value={settingText(version.model_config[member])} />
            ))}
          </FactList>
        )}
      </section>
      <Text size="xs" c="dimmed" mt="md">
        {version.template_format === "none" ? "The messages aren't templates." : MISSING[version.missing]}
      </Text>
    </div>
  );
}

function settingText(value: unknown): string {
  if (Array.isArray(value)) return value.map((item) => JSON.stringify(item)).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
