"""A tool of an MCP server, called by a client in the same process."""

import asyncio

import recording

recording.start()

from fastmcp import Client, FastMCP  # noqa: E402

server = FastMCP("weather")
server.tool(recording.get_weather)


async def main():
    async with Client(server) as client:
        await client.call_tool("get_weather", {"city": "Paris"})


asyncio.run(main())
