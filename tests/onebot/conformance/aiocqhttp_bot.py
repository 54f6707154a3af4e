"""A bot made with aiocqhttp, to which clients connect: it echoes what is said and calls what it is told to call.

Every line that it prints is JSON: `ready` with its port, `heard` with an event as the library read it, and `came` with
what came of a call.
"""

import asyncio
import json
import socket
import sys

from aiocqhttp import ActionFailed, CQHttp, Message

bot = CQHttp(__name__, message_class=Message, access_token=sys.argv[1], api_timeout_sec=30)


def say(**line):
    print(json.dumps(line, ensure_ascii=False), flush=True)


@bot.on_message
async def on_message(event):
    segments = [{"type": it.type, "data": {key: str(value) for key, value in it.data.items()}} for it in event.message]
    say(heard={"name": event.name, "self_id": event.self_id, "user_id": event.user_id, "group_id": event.group_id,
               "message_id": event.message_id, "sender": event.sender["nickname"], "segments": segments,
               "text": event.message.extract_plain_text()})
    text = event.message.extract_plain_text().strip()
    if not text.startswith("call "):
        await bot.send(event, event.message)
        return
    call = json.loads(text.removeprefix("call "))
    try:
        say(came={"action": call["action"], "data": await bot.call_action(call["action"], **call["params"])})
    except ActionFailed as failed:
        say(came={"action": call["action"], "retcode": failed.retcode})


@bot.on_notice
@bot.on_request
async def on_other(event):
    say(heard={"name": event.name, "self_id": event.self_id, "user_id": event.user_id})


@bot.on_meta_event
async def on_meta(event):
    say(heard={"name": event.name, "self_id": event.self_id})


async def main():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serving = asyncio.create_task(bot.run_task(host="127.0.0.1", port=port))
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            break
        except OSError:
            await asyncio.sleep(0.05)
    say(ready=port)
    await serving


asyncio.run(main())
