import { Anchor, Tabs, Text } from "@mantine/core";
import { Link } from "react-router";
import { CodeBlock } from "@/components/CodeBlock";
import { useProjectId } from "@/components/useProject";
import classes from "./ConnectPage.module.css";
import { mcpClients } from "./mcpClients";

/** How to add the MCP server to each client. */
export function Agents() {
  const projectId = useProjectId();
  const clients = mcpClients(window.location.origin);
  return (
    <section className={classes.section} aria-labelledby="connect-agents">
      <h2 id="connect-agents" className={classes.heading}>
        Let an agent read runs
      </h2>
      <Text size="sm" c="dimmed" mb="sm">
        The MCP server lets agents search runs and read a run within a token budget. It needs a{" "}
        <Anchor component={Link} to={`/p/${projectId}/settings/keys`} underline="always">
          key
        </Anchor>{" "}
        with the Agent preset.
      </Text>
      <Tabs defaultValue={clients[0]?.id} keepMounted={false}>
        <Tabs.List aria-label="MCP clients">
          {clients.map((client) => (
            <Tabs.Tab key={client.id} value={client.id}>
              {client.label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {clients.map((client) => (
          <Tabs.Panel key={client.id} value={client.id} data-testid={`mcp-${client.id}`}>
            <p className={classes.label}>{client.location}</p>
            <CodeBlock code={client.code} what={`configuration for ${client.label}`} />
            <Text size="sm" c="dimmed" mt="xs">
              {client.note}
            </Text>
          </Tabs.Panel>
        ))}
      </Tabs>
    </section>
  );
}
