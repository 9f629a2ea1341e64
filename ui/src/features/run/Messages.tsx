import { Button } from "@mantine/core";
import { IconArrowBackUp, IconTool } from "@tabler/icons-react";
import { useMemo, useState } from "react";
import type { Message, MessagePart, Span } from "@/api/types";
import { formatBytes } from "@/components/format";
import { JsonTree } from "@/components/JsonTree";
import type { Json } from "@/components/json";
import { RecordedText } from "@/components/RecordedText";
import { OnDemandImage } from "./OnDemandImage";
import { asText, type ShownPart, showPart } from "./parts";
import classes from "./SpanDetail.module.css";

/** Of more input messages, only the last ones are shown at first. */
const MAX_SHOWN = 20;

/** The conversation of a model call: instructions, input and output. */
export function Messages({ span }: { span: Span }) {
  const [all, setAll] = useState(false);
  const input = span.input_messages ?? [];
  const output = span.output_messages ?? [];
  const hidden = all ? 0 : Math.max(0, input.length - MAX_SHOWN);
  return (
    <div data-testid="messages">
      {span.system_instructions && span.system_instructions.length > 0 && (
        <Turn speaker="system" parts={span.system_instructions} collapsed />
      )}
      {hidden > 0 && (
        <Button size="compact-sm" variant="default" mb="sm" onClick={() => setAll(true)}>
          Show {hidden} earlier {hidden === 1 ? "message" : "messages"}
        </Button>
      )}
      {input.slice(hidden).map((message, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: messages have no id, and their order is fixed
        <MessageTurn key={`in-${index + hidden}`} message={message} />
      ))}
      {output.length > 0 && <p className={classes.divider}>output</p>}
      {output.map((message, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: messages have no id, and their order is fixed
        <MessageTurn key={`out-${index}`} message={message} />
      ))}
      {span.tool_definitions && span.tool_definitions.length > 0 && (
        <details className={classes.details}>
          <summary>
            {span.tool_definitions.length} {span.tool_definitions.length === 1 ? "tool" : "tools"} offered to
            the model
          </summary>
          <JsonTree value={span.tool_definitions as Json} what="tool definitions" open={1} />
        </details>
      )}
    </div>
  );
}

function MessageTurn({ message }: { message: Message }) {
  return <Turn speaker={message.role} parts={message.parts} collapsed={message.role === "system"} />;
}

function Turn({
  speaker,
  parts,
  collapsed = false,
}: {
  speaker: string;
  parts: MessagePart[];
  collapsed?: boolean;
}) {
  const content = <Parts parts={parts} />;
  const size = parts.reduce(
    (sum, part) => sum + (typeof part.content === "string" ? part.content.length : 0),
    0,
  );
  return (
    <div className={classes.message} data-testid="message" data-role={speaker}>
      <div className={classes.role} data-role={speaker}>
        <bdi>{speaker}</bdi>
      </div>
      {collapsed ? (
        <details className={classes.details}>
          <summary>Instructions ({formatBytes(size)})</summary>
          {content}
        </details>
      ) : (
        content
      )}
    </div>
  );
}

/** The content of a message. */
export function Parts({ parts }: { parts: readonly MessagePart[] }) {
  const shown = useMemo(() => parts.map(showPart), [parts]);
  return (
    <div className={classes.parts}>
      {shown.map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts have no id, and their order is fixed
        <Part key={index} part={part} />
      ))}
    </div>
  );
}

function Part({ part }: { part: ShownPart }) {
  switch (part.kind) {
    case "text":
      return <RecordedText text={part.text} what="text" />;
    case "reasoning":
      return (
        <details className={classes.details}>
          <summary>Reasoning ({formatBytes(part.text.length)})</summary>
          <RecordedText text={part.text} what="reasoning" />
        </details>
      );
    case "call":
      return (
        <Boxed icon={<IconTool size={14} stroke={1.7} aria-hidden="true" />} title={part.name} id={part.id}>
          <RecordedText text={asText(part.args) || "{}"} what="arguments" plain framed={false} />
        </Boxed>
      );
    case "response":
      return (
        <Boxed
          icon={<IconArrowBackUp size={14} stroke={1.7} aria-hidden="true" />}
          title="result"
          id={part.id}
        >
          <RecordedText text={asText(part.result)} what="result" plain framed={false} />
        </Boxed>
      );
    case "image":
      return (
        <OnDemandImage
          base64={part.base64}
          mime={part.mime}
          label={`${part.mime}, ${formatBytes(part.bytes)}`}
        />
      );
    case "link":
      return (
        <div>
          {part.what}: <Address address={part.address} />
        </div>
      );
    case "binary":
      return (
        <div>
          {part.mime}, {formatBytes(part.bytes)}
        </div>
      );
    case "other":
      return <JsonTree value={part.part as Json} what="part" />;
  }
}

interface BoxedProps {
  icon: React.ReactNode;
  title: string;
  id: string | null;
  children: React.ReactNode;
}

function Boxed({ icon, title, id, children }: BoxedProps) {
  return (
    <div className={classes.call}>
      <div className={classes.callHead}>
        {icon}
        <code>
          <bdi>{title}</bdi>
        </code>
        {id && (
          <span className={classes.callId} title={id}>
            {id}
          </span>
        )}
      </div>
      <div className={classes.callBody}>{children}</div>
    </div>
  );
}

/** An external address. The page never fetches it. */
function Address({ address }: { address: string }) {
  if (!/^https?:\/\//i.test(address)) return <code>{address}</code>;
  return (
    <a href={address} target="_blank" rel="noopener noreferrer nofollow">
      {address}
    </a>
  );
}
