"""A bot made with NoneBot's adapter, which connects to clients: it echoes what is said and calls what it is told to call.

It prints what `aiocqhttp_bot.py` prints, without a port.
"""

import json
import sys

import nonebot
from nonebot.adapters.onebot.v11 import ActionFailed, Adapter, Bot, MessageEvent
from nonebot.log import logger

# Its log would stand between the lines.
logger.remove()
nonebot.init(driver="~websockets", onebot_ws_urls=[sys.argv[2]], onebot_access_token=sys.argv[1])
nonebot.get_driver().register_adapter(Adapter)


def say(**line):
    print(json.dumps(line, ensure_ascii=False), flush=True)


@nonebot.get_driver().on_bot_connect
async def on_connect(bot: Bot):
    say(ready=bot.self_id)


echo = nonebot.on_message()


@echo.handle()
async def on_message(bot: Bot, event: MessageEvent):
    segments = [{"type": it.type, "data": {key: str(value) for key, value in it.data.items()}}
                for it in event.original_message]
    text = event.original_message.extract_plain_text()
    say(heard={"name": event.get_event_name(), "self_id": event.self_id, "user_id": event.user_id,
               "group_id": getattr(event, "group_id", None), "message_id": event.message_id,
               "sender": event.sender.nickname, "segments": segments, "text": text})
    if not text.strip().startswith("call "):
        await bot.send(event, event.original_message)
        return
    call = json.loads(text.strip().removeprefix("call "))
    try:
        say(came={"action": call["action"], "data": await bot.call_api(call["action"], **call["params"])})
    except ActionFailed as failed:
        say(came={"action": call["action"], "retcode": failed.info["retcode"]})


nonebot.run()
