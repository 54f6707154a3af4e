"""A complete plugin: a tool, a stage handler, an event, an output channel and a setting."""

from typing import Annotated

from homeagent import Plugin, invalid, publish, settings
from wit_world.exports.stage_handler import Patch_SetText

plugin = Plugin("greeter", "0.1.0", summary="Greets people.")

rang = []
guest_book = []


@plugin.tool("greet", "Greets someone by name.", effect="read")
def greet(name: Annotated[str, "Whom to greet."]):
    if name == "":
        raise invalid("the name is empty; ask whom to greet")
    publish("greeted", {"name": name})
    return f"{settings['greeting']}, {name}!"


@plugin.tool("greeter_report", "Tells who rang the bell and what was written into the guest book.", effect="read")
def report():
    return {"rang": rang, "guest_book": guest_book}


@plugin.stage("before-output", mode="rewrite")
def sign(context):
    """Whatever the agent is about to say is signed."""
    return Patch_SetText(f"{context.data.value.text}\n(greetings from the greeter)")


@plugin.on("plugin.doorbell.*")
def note(payload, event):
    rang.append(payload["name"])


@plugin.channel("guest_book", "A guest book that keeps what is written into it.")
def write(output):
    guest_book.append(output.text)
    return f"entry-{len(guest_book)}"
