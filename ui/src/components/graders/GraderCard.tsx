import { Tabs, TextInput } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import { writeJson } from "@/api/json";
import type { DatasetItem } from "@/api/types";
import { Code } from "@/components/Code";
import { errorsBelow, type FormErrors } from "@/components/formErrors";
import { IconButton } from "@/components/IconButton";
import { GraderFields } from "./GraderFields";
import classes from "./Graders.module.css";
import type { GraderDraft } from "./graderDraft";
import { readDefinition } from "./graderMembers";
import { graderType } from "./graderTypes";

interface Props {
  grader: GraderDraft;
  number: number;
  /** The location of the grader in the request. */
  at?: string;
  /** Whether it has a name, because there may be others. */
  isNamed?: boolean;
  items: readonly DatasetItem[];
  errors: FormErrors;
  onChange: (grader: GraderDraft) => void;
  onRemove: () => void;
}

/** One grader, as a form and as JSON. Both show the same definition. */
export function GraderCard(props: Props) {
  const { grader, number, at = `body.graders[${number - 1}]`, isNamed = true, items, errors } = props;
  const { onChange, onRemove } = props;
  const definition = readDefinition(grader.json);
  const type = definition ? graderType(definition) : undefined;
  const [tab, setTab] = useState<string | null>(type ? "form" : "json");
  const messages = errorsBelow(errors, at, [`${at}.name`]);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has a border and a width of its own
    <div
      className={classes.grader}
      role="group"
      aria-label={`Grader ${number}, ${grader.name}`}
      data-testid="grader"
    >
      <div className={classes.head}>
        {isNamed && (
          <TextInput
            size="xs"
            aria-label={`Name of grader ${number}`}
            placeholder="Name"
            maxLength={100}
            autoComplete="off"
            value={grader.name}
            onChange={(event) => onChange({ ...grader, name: event.currentTarget.value })}
            error={errors[`${at}.name`]}
          />
        )}
        <span className={classes.type}>{type?.label}</span>
        <IconButton label={`Remove grader ${number}`} icon={<IconTrash size={14} />} onClick={onRemove} />
      </div>
      <Tabs value={tab} onChange={setTab} keepMounted={false} classNames={{ tab: classes.tab }}>
        <Tabs.List aria-label={`How grader ${number} is edited`}>
          <Tabs.Tab value="form">Form</Tabs.Tab>
          <Tabs.Tab value="json">JSON</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="form" pt="xs">
          {definition && type ? (
            <GraderFields
              definition={definition}
              at={at}
              place=""
              broken={grader.broken ?? {}}
              items={items}
              errors={errors}
              onChange={(changed, broken) => onChange({ ...grader, json: writeJson(changed, 2), broken })}
            />
          ) : (
            <p className={classes.note}>
              {definition
                ? `There is no form for the type ${JSON.stringify(definition.type) ?? "of this grader"}. Edit it as JSON.`
                : "The JSON is not valid. Correct it to see the form."}
            </p>
          )}
        </Tabs.Panel>
        <Tabs.Panel value="json" pt="xs">
          <Code
            label={`Definition of grader ${number}`}
            language="json"
            minHeight={40}
            maxHeight={300}
            value={grader.json}
            onChange={(json) => onChange({ ...grader, json, broken: {} })}
          />
        </Tabs.Panel>
      </Tabs>
      {(tab === "json" || !type) && <Messages messages={messages} />}
    </div>
  );
}

function Messages({ messages }: { messages: readonly string[] }) {
  if (messages.length === 0) return null;
  return (
    <ul className={classes.errors} role="alert">
      {messages.map((message) => (
        <li key={message}>{message}</li>
      ))}
    </ul>
  );
}
