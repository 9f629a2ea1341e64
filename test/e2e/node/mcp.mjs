// Lists and calls the MCP tools with the official client, over each transport, and prints the results as JSON.
// Reads from stdin: {key, run_name, transports: [{url} or {command, env}]}.
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

async function use(client) {
  const { tools } = await client.listTools();
  const search = tools.find((tool) => tool.name.endsWith("search")).name;
  const found = await client.callTool({ name: search, arguments: { name: job.run_name, limit: 1 } });
  const nextRead = found.structuredContent.next_read;
  const space = nextRead.indexOf(" ");
  const tool = nextRead.slice(0, space);
  const view = await client.callTool({ name: tool, arguments: { ...JSON.parse(nextRead.slice(space)), token_budget: 3000 } });
  const refused = await client.callTool({ name: tool, arguments: { run_id: "7" } });
  return {
    tools: tools.map((tool) => tool.name).sort(),
    instructions: client.getInstructions() ?? "",
    schemas: tools.every((tool) => tool.outputSchema && tool.inputSchema),
    read_only: tools.filter((tool) => tool.annotations?.readOnlyHint).map((tool) => tool.name).sort(),
    found: found.structuredContent,
    view: view.structuredContent,
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
