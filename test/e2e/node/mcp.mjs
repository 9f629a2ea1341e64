// Lists and calls the MCP tools with the official client, over each transport, and prints the results as JSON.
// With an agent's name, it finds out why runs of the agent fail. Reads from stdin: {key, run_name, agent, transports: [{url} or {command, env}]}.
import { text } from "node:stream/consumers";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const job = JSON.parse(await text(process.stdin));

function transportOf(given) {
  if (given.url) {
    return new StreamableHTTPClientTransport(new URL(given.url), { requestInit: { headers: { "X-Api-Key": job.key } } });
  }
  const [command, ...args] = given.command;
  return new StdioClientTransport({ command, args, env: given.env });
}

// follow makes a call that a result names.
async function follow(client, next, more) {
  const space = next.indexOf(" ");
  return (await client.callTool({ name: next.slice(0, space), arguments: { ...JSON.parse(next.slice(space)), ...more } })).structuredContent;
}

async function cause(client, tools) {
  const failures = tools.find((tool) => /^runs.failures$/.test(tool.name)).name;
  const groups = (await client.callTool({ name: failures, arguments: { agent_name: job.agent, token_budget: 1500 } })).structuredContent;
  return {
    groups,
    view: await follow(client, groups.next[0], { token_budget: 3000 }),
    compared: await follow(client, groups.next[1], { token_budget: 2000 }),
  };
}

async function use(client) {
  const { tools } = await client.listTools();
  const search = tools.find((tool) => tool.name.endsWith("search")).name;
  const found = await client.callTool({ name: search, arguments: { name: job.run_name, limit: 1 } });
  const nextRead = found.structuredContent.next_read;
  const space = nextRead.indexOf(" ");
  const tool = nextRead.slice(0, space);
  const view = await client.callTool({ name: tool, arguments: { ...JSON.parse(nextRead.slice(space)), token_budget: 3000 } });
  const why = await cause(client, tools);
  const refused = await client.callTool({ name: tool, arguments: { run_id: "7" } });
  return {
    tools: tools.map((tool) => tool.name).sort(),
    instructions: client.getInstructions() ?? "",
    schemas: tools.every((tool) => tool.outputSchema && tool.inputSchema),
    read_only: tools.filter((tool) => tool.annotations?.readOnlyHint).map((tool) => tool.name).sort(),
    found: found.structuredContent,
    view: view.structuredContent,
    cause: why,
    same: JSON.stringify(JSON.parse(view.content[0].text)) === JSON.stringify(view.structuredContent),
    refused: refused.isError && refused.content[0].text,
  };
}

const answers = [];
for (const given of job.transports) {
  const client = new Client({ name: "e2e", version: "1" });
  await client.connect(transportOf(given));
  answers.push(await use(client));
  await client.close();
}
console.log(JSON.stringify(answers));
