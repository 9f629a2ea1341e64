"""Lists and calls the MCP tools with the official client, over each transport, and prints the results as JSON.

Reads from stdin: {"key", "run_name", "transports": [{"url"} or {"command", "env"}]}.
"""

import asyncio
import json
import sys
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client


async def use(client: Client, run_name: str) -> dict[str, Any]:
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    search = next(name for name in tools if name.endswith("search"))
    found = await client.call_tool(search, {"name": run_name, "limit": 1})
    next_read = found.structured_content["next_read"]
    tool, arguments = next_read.split(" ", 1)
    view = await client.call_tool(tool, {**json.loads(arguments), "token_budget": 3000})
    refused = await client.call_tool(tool, {"run_id": "7"})
    return {
        "tools": sorted(tools),
        "instructions": client.instructions or "",
        "schemas": all(tool.output_schema and tool.input_schema for tool in tools.values()),
        "read_only": sorted(tool.name for tool in tools.values() if tool.annotations and tool.annotations.read_only_hint),
        "found": found.structured_content,
        "view": view.structured_content,
        "same": json.loads(view.content[0].text) == view.structured_content,
        "refused": refused.is_error and refused.content[0].text,
    }


async def main() -> None:
    job = json.load(sys.stdin)
    answers = []
    for transport in job["transports"]:
        if "url" in transport:
            http = create_mcp_http_client(headers={"Authorization": f"Bearer {job['key']}"})
            async with http, Client(streamable_http_client(transport["url"], http_client=http)) as client:
                answers.append(await use(client, job["run_name"]))
        else:
            command, *args = transport["command"]
            async with Client(StdioServerParameters(command=command, args=args, env=transport["env"])) as client:
                answers.append(await use(client, job["run_name"]))
    print(json.dumps(answers))


asyncio.run(main())
