"""Lists and calls the MCP tools with the official client, over each transport, and prints the results as JSON.

With an agent's name, it finds out why runs of the agent fail.
Reads from stdin: {"key", "run_name", "agent", "transports": [{"url"} or {"command", "env"}]}.
"""

import asyncio
import json
import sys
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client


async def follow(client: Client, call: str, **more: Any) -> dict[str, Any]:
    """Makes a call that a result names."""
    tool, arguments = call.split(" ", 1)
    return (await client.call_tool(tool, {**json.loads(arguments), **more})).structured_content


async def cause(client: Client, tools: dict[str, Any], agent: str) -> dict[str, Any]:
    failures = next(name for name in tools if name.endswith("failures"))
    groups = (await client.call_tool(failures, {"agent_name": agent, "token_budget": 1500})).structured_content
    return {
        "groups": groups,
        "view": await follow(client, groups["next"][0], token_budget=3000),
        "compared": await follow(client, groups["next"][1], token_budget=2000),
    }


async def use(client: Client, run_name: str, agent: str) -> dict[str, Any]:
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
        "cause": await cause(client, tools, agent),
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
                answers.append(await use(client, job["run_name"], job["agent"]))
        else:
            command, *args = transport["command"]
            async with Client(StdioServerParameters(command=command, args=args, env=transport["env"])) as client:
                answers.append(await use(client, job["run_name"], job["agent"]))
    print(json.dumps(answers))


asyncio.run(main())
