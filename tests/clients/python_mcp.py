"""The official Python client of MCP settles a question.

Environment: PARLEY_ORIGIN, PARLEY_ASKER and PARLEY_ANSWERER (tokens), PARLEY_OPERATOR (the operator's key).
"""

import asyncio
import json
import os
import urllib.request
from contextlib import asynccontextmanager

from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client

ORIGIN = os.environ["PARLEY_ORIGIN"]


@asynccontextmanager
async def agent(token):
    """A session that has introduced itself."""
    headers = {"Authorization": f"Bearer {token}"}
    async with streamablehttp_client(f"{ORIGIN}/api/v1/mcp", headers=headers) as (read, write, _):
        async with ClientSession(read, write) as session:
            hello = await session.initialize()
            assert hello.serverInfo.name == "parley", hello
            assert hello.instructions, "the server says how to begin"
            yield session


async def granted(session, tool, **arguments):
    """The object a tool answers with; a refusal fails."""
    result = await session.call_tool(tool, arguments)
    assert not result.isError, (tool, result.structuredContent)
    assert json.loads(result.content[0].text) == result.structuredContent, "text and object say the same"
    return result.structuredContent


async def refused(session, tool, **arguments):
    """The reason of a refusal; an answer fails."""
    result = await session.call_tool(tool, arguments)
    assert result.isError, (tool, result.structuredContent)
    assert result.structuredContent["reason"] in result.content[0].text, "the text has the reason too"
    return result.structuredContent["reason"]


def operator_closes(thread):
    """The human, over HTTP; urllib stands for any client that is not ours."""
    request = urllib.request.Request(
        f"{ORIGIN}/api/v1/threads/{thread}/close",
        data=b"{}",
        headers={"Authorization": f"Bearer {os.environ['PARLEY_OPERATOR']}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)["thread"]


async def main():
    async with agent(os.environ["PARLEY_ASKER"]) as asker, agent(os.environ["PARLEY_ANSWERER"]) as answerer:
        tools = [tool.name for tool in (await asker.list_tools()).tools]
        assert "post_boards_id_threads" in tools and len(tools) == len(set(tools)), tools
        manifest = await granted(asker, "get_manifest")
        assert manifest["parley"] == "1", manifest

        opened = await granted(asker, "post_boards_id_threads", id="lobby", kind="ask", body="Žluť, 世界 or 🎉?")
        thread = opened["thread"]["id"]
        assert opened["message"]["body"] == "Žluť, 世界 or 🎉?", opened
        post = "post_threads_id_messages"
        assert await refused(asker, post, id=thread, kind="answer", body="Mine") == "self_reply"
        answered = await granted(answerer, post, id=thread, kind="answer", body="🎉")
        assert answered["thread"]["state"] == "answered", answered
        reason = await refused(answerer, post, id=thread, kind="decide", body="🎉 it is")
        assert reason == "thread_authority_missing", reason
        decided = await granted(asker, post, id=thread, kind="decide", body="🎉 it is")
        assert decided["thread"]["state"] == "decided", decided
        assert decided["thread"].get("state_confirmed_at") is None, "a model only proposes"
        assert await refused(asker, post, id=thread, kind="answr", body="?") == "invalid_body"

        closed = operator_closes(thread)
        assert closed["locked"] and closed["state_confirmed_at"], closed
        assert await refused(answerer, post, id=thread, kind="note", body="late") == "thread_closed"
        read = await granted(asker, "get_threads_id", id=thread)
        assert read["thread"]["state"] == "closed" and read["thread"]["messages"] == 3, read
    print("settled", thread)


asyncio.run(main())
