import { Text } from "@mantine/core";
import type { PromptMessage } from "@/api/types";
import { isObject } from "@/components/json";
import { pretty } from "./draft";
import classes from "./MessageList.module.css";
import { TemplateText } from "./TemplateText";

interface Props {
  messages: readonly PromptMessage[];
  /** Marks the tags of templates. */
  isTemplate?: boolean;
}

/** The messages of a version, or of a rendered one. */
export function MessageList({ messages, isTemplate = false }: Props) {
  return (
    <ol className={classes.list}>
      {messages.map((message, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: messages have no id, and are not reordered here
        <li key={index} className={classes.message} data-testid="prompt-message">
          <div className={classes.role}>
            <Title message={message} />
          </div>
          <Content message={message} isTemplate={isTemplate} />
        </li>
      ))}
    </ol>
  );
}

function Title({ message: { type, role, name } }: { message: PromptMessage }) {
  if (type === "placeholder")
    return (
      <>
        placeholder: <bdi>{name}</bdi>
      </>
    );
  return (
    <>
      {role ?? "no role"}
      {name && (
        <>
          {" "}
          (<bdi>{name}</bdi>)
        </>
      )}
    </>
  );
}

function Content({ message, isTemplate }: { message: PromptMessage; isTemplate: boolean }) {
  if (message.type === "placeholder") {
    return (
      <Text size="xs" c="dimmed">
        Replaced by a list of messages.
      </Text>
    );
  }
  const { role, name, content, ...others } = message;
  return (
    <>
      {typeof content === "string" &&
        (content === "" ? (
          <Text size="xs" c="dimmed">
            Empty
          </Text>
        ) : (
          <TemplateText text={content} isTemplate={isTemplate} />
        ))}
      {Array.isArray(content) &&
        content.map((part, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts have no id
          <Part key={index} part={part} isTemplate={isTemplate} />
        ))}
      {Object.keys(others).length > 0 && <TemplateText text={pretty(others)} />}
    </>
  );
}

function Part({ part, isTemplate }: { part: unknown; isTemplate: boolean }) {
  if (isObject(part) && part.type === "text" && typeof part.text === "string") {
    return <TemplateText text={part.text} isTemplate={isTemplate} />;
  }
  if (isObject(part) && part.type === "image_url") {
    const url = isObject(part.image_url) ? part.image_url.url : part.image_url;
    // An address is never fetched.
    return <TemplateText text={`image: ${String(url)}`} isTemplate={isTemplate} />;
  }
  return <TemplateText text={pretty(part)} />;
}
