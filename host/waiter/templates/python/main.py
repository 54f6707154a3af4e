"""A HomeAgent plugin."""

from typing import Annotated

from homeagent import Plugin, settings

plugin = Plugin("NAME", "0.1.0", summary="Greets people.")


@plugin.tool("NAME_greet", "Greets someone by name.", effect="read")
def greet(name: Annotated[str, "Whom to greet."]):
    return f"{settings['greeting']}, {name}!"
