export interface McpClient {
  id: string;
  label: string;
  /** Where the text belongs. */
  place: string;
  code: string;
  note: string;
}

/** How each client is told of the MCP server at an installation's address. None of the texts holds a key. */
export function mcpClients(origin: string): McpClient[] {
  // Models' providers refuse dots in the names of tools.
  const url = `${origin}/mcp?tool_names=underscore`;
  const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
  return [
    {
      id: "claude-code",
      label: "Claude Code",
      place: "In a shell",
      code: `claude mcp add --transport http looptrace '${url}' \\
  --header "Authorization: Bearer $LOOPTRACE_API_KEY"
`,
      note: "The shell puts the key from LOOPTRACE_API_KEY in; Claude Code keeps it in its configuration.",
    },
    {
      id: "cursor",
      label: "Cursor",
      place: ".cursor/mcp.json",
      code: json({
        mcpServers: {
          // biome-ignore lint/suspicious/noTemplateCurlyInString: Cursor replaces it
          looptrace: { url, headers: { Authorization: "Bearer ${env:LOOPTRACE_API_KEY}" } },
        },
      }),
      note: "Cursor takes the key from the environment that it was started in.",
    },
    {
      id: "vscode",
      label: "VS Code",
      place: ".vscode/mcp.json",
      code: json({
        inputs: [{ type: "promptString", id: "looptrace-key", description: "Looptrace key", password: true }],
        servers: {
          // biome-ignore lint/suspicious/noTemplateCurlyInString: VS Code replaces it
          looptrace: { type: "http", url, headers: { Authorization: "Bearer ${input:looptrace-key}" } },
        },
      }),
      note: "VS Code asks for the key once and keeps it.",
    },
    {
      id: "stdio",
      label: "stdio",
      place: "The client's configuration",
      code: json({
        mcpServers: {
          looptrace: {
            command: "looptrace",
            args: ["mcp", "--tool-names", "underscore"],
            env: { LOOPTRACE_ENDPOINT: origin, LOOPTRACE_API_KEY: "lt_YOUR_KEY" },
          },
        },
      }),
      note: "For clients that start their servers. The binary looptrace hands everything to this address.",
    },
  ];
}
