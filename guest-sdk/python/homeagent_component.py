"""The component's exports, by the names that componentize-py looks for, on the plugin of the module `main`."""

from homeagent import describe_error, log
from main import plugin
from wit_world import exports


class Lifecycle(exports.Lifecycle):
    def describe(self):
        return plugin.descriptor()

    async def start(self, resumed):
        await _told(plugin.hook("start", resumed))

    async def self_check(self):
        await _told(plugin.hook("self_check"))

    async def activated(self):
        await _noted(plugin.hook("activated"))

    async def stop(self):
        await _noted(plugin.hook("stop"))


class ToolProvider(exports.ToolProvider):
    async def call(self, name, args, cause):
        return await _told(plugin.call(name, args, cause))


class StageHandler(exports.StageHandler):
    async def run(self, context):
        return await _told(plugin.run(context))


class EventHandler(exports.EventHandler):
    async def on_event(self, event):
        await _noted(plugin.on_event(event))


class Channel(exports.Channel):
    async def deliver(self, output, cause):
        return await _told(plugin.deliver(output, cause))

    async def show(self, deltas):
        await _noted(plugin.show(deltas))


async def _told(work):
    """Hands an exception on as the contract's error; anything else that leaves an export ends the instance."""
    try:
        return await work
    except Exception as error:
        raise describe_error(error) from None


async def _noted(work):
    """Writes an exception that nobody waits for into the log."""
    try:
        await work
    except Exception as error:
        log.error(describe_error(error).value.value)
