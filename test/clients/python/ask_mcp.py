"""Speaks to an MCP server over stdio."""

from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

vertices = "get_nodes", {"vertex_type": "Person", "limit": 2}


async def ask(command, env, calls):
    """The answers of one server process to these calls."""
    parameters = StdioServerParameters(command=command[0], args=command[1:], env=env)
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        results = [await session.call_tool(f"tigergraph__{tool}", arguments) for tool, arguments in calls]
    return ["\n".join(part.text for part in result.content) for result in results]
