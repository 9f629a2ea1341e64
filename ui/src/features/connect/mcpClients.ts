export interface McpClient {
  id: string;
  label: string;
  /** Where the configuration belongs. */
  location: string;
  code: string;
  note: string;
}

/** The configuration of each client for the MCP server at an address. It contains no key. */
export function mcpClients(origin: string): McpClient[] {
  // Model providers reject dots in tool names.
  const url = `${origin}/mcp?tool_names=underscore`;
  const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
  return [
    {
      id: "claude-code",
      label: "Claude Code",
      location: "In a shell",
      code: `claude mcp add --transport http looptrace '${url}' \\
  --header "Authorization: Bearer $LOOPTRACE_API_KEY"
`,
      note: "The shell inserts the key from LOOPTRACE_API_KEY. Claude Code stores it in its configuration.",
    },
    {
      id: "cursor",
      label: "Cursor",
      location: ".cursor/mcp.json",
      code: json({
        mcpServers: {
          // biome-ignore lint/suspicious/noTemplateCurlyInString: Cursor replaces this
          looptrace: { url, headers: { Authorization: "Bearer ${env:LOOPTRACE_API_KEY}" } },
        },
      }),
      note: "Cursor reads the key from its environment.",
    },
    {
      id: "vscode",
      label: "VS Code",
      location: ".vscode/mcp.json",
      code: json({
        inputs: [{ type: "promptString", id: "looptrace-key", description: "Looptrace key", password: true }],
        servers: {
          // biome-ignore lint/suspicious/noTemplateCurlyInString: VS Code replaces this
          looptrace: { type: "http", url, headers: { Authorization: "Bearer ${input:looptrace-key}" } },
        },
      }),
      note: "VS Code asks for the key once and stores it.",
    },
    {
      id: "stdio",
      label: "stdio",
      location: "The client's configuration",
      code: json({
        mcpServers: {
          looptrace: {
            command: "looptrace",
            args: ["mcp", "--tool-names", "underscore"],
            env: { LOOPTRACE_ENDPOINT: origin, LOOPTRACE_API_KEY: "lt_YOUR_KEY" },
          },
        },
      }),
      note: "For clients that start their own servers. The looptrace binary forwards everything to this address.",
    },
  ];
}
