"""Write HomeAgent plugins in Python.

    from homeagent import Plugin, settings

    plugin = Plugin("greeter", "0.1.0", summary="Greets people.")

    @plugin.tool("greet", "Greets someone by name.", effect="read")
    def greet(name: str) -> str:
        return f"{settings['greeting']}, {name}!"

The module `main` of a plugin holds a `Plugin` called `plugin`; `build.sh`, which `waiter plugin new` writes, makes a
component of it. Handlers may be coroutines. What they are handed - causes, outputs, events, contexts of stages - are the
records of the contract, from the module `wit_world`.
"""

import inspect
import json
import typing

from componentize_py_types import Err
from wit_world.exports import channel, stage_handler
from wit_world.imports import bus, inputs, log as host_log, settings as host_settings, tools, types

__all__ = [
    "Plugin", "Failed", "call_tool", "describe_error", "interrupt", "invalid", "log", "not_found", "other", "publish",
    "settings", "submit", "stop_turn",
]


def invalid(text):
    """An error to raise: the arguments are wrong; the text says which and how."""
    return Err(types.Error_Invalid(text))


def not_found(text):
    """An error to raise: there is nothing of that name."""
    return Err(types.Error_NotFound(text))


def other(text):
    """An error to raise: anything else, in words."""
    return Err(types.Error_Other(text))


def describe_error(error):
    """An exception as the contract's error, with the file and line of the plugin where it was raised."""
    if isinstance(error, Err):
        return error
    place, at = "", error.__traceback__
    while at is not None:
        place = f"{at.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{at.tb_lineno}: "
        at = at.tb_next
    return other(f"{place}{type(error).__name__}: {error}")


class Failed:
    """What a tool returns that ran and did not succeed."""

    def __init__(self, value):
        self.value = value


class Settings:
    """The plugin's own settings, by key. Reading needs no grant; changing one needs `settings`."""

    def __getitem__(self, key):
        return json.loads(host_settings.get(key))

    def __setitem__(self, key, value):
        host_settings.set(key, json.dumps(value))


settings = Settings()


class Log:
    """The plugin's log."""

    def _write(self, level, message):
        host_log.write(level, str(message))

    def trace(self, message):
        self._write(host_log.Level.TRACE, message)

    def debug(self, message):
        self._write(host_log.Level.DEBUG, message)

    def info(self, message):
        self._write(host_log.Level.INFO, message)

    def warn(self, message):
        self._write(host_log.Level.WARN, message)

    def error(self, message):
        self._write(host_log.Level.ERROR, message)


log = Log()


def publish(topic, payload=None):
    """Publishes an event under `plugin.<name>.<topic>`. Needs the grant `events`."""
    bus.publish(topic, json.dumps(payload))


async def call_tool(name, arguments, cause):
    """Calls another's tool with the rights of `cause`, the one that came with a call. Needs the grant `tools`."""
    output = await tools.call(name, json.dumps(arguments), cause)
    return json.loads(output.value)


def _submission(user, text, peer, platform_id, display_name, kind, reply_route):
    return inputs.Submission(
        platform_id=platform_id, peer=peer or types.Peer_Person(user), user=user, display_name=display_name,
        connection=None, kind=kind, payload=types.Payload_Text(text), media=[], reply_route=reply_route,
        received_at=None, meta=[],
    )


async def submit(user, text, *, peer=None, platform_id=None, display_name=None, kind="message", reply_route=None):
    """Brings what `user` said to the agent. Needs the grant `input`."""
    return await inputs.submit(_submission(user, text, peer, platform_id, display_name, kind, reply_route))


async def interrupt(user, text, *, peer=None, platform_id=None, display_name=None, kind="message", reply_route=None):
    """The same for what does not wait: it joins the turn that runs."""
    return await inputs.interrupt(_submission(user, text, peer, platform_id, display_name, kind, reply_route))


async def stop_turn(user, *, peer=None):
    """Ends the turn that runs in the conversation. False: none was running."""
    return await inputs.stop(_submission(user, "", peer, None, None, "message", None))


JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}


def _schema_of(annotation):
    description = None
    if typing.get_origin(annotation) is typing.Annotated:
        annotation, description = typing.get_args(annotation)[:2]
    schema = {}
    kind = JSON_TYPES.get(typing.get_origin(annotation) or annotation)
    if kind:
        schema["type"] = kind
    if kind == "array" and typing.get_args(annotation):
        schema["items"] = _schema_of(typing.get_args(annotation)[0])
    if description:
        schema["description"] = description
    return schema


def _parameters(handler):
    """The JSON Schema of a handler's arguments, from its signature. `cause` is not one of them."""
    signature = inspect.signature(handler)
    given = {name: it for name, it in signature.parameters.items() if name != "cause"}
    required = [name for name, it in given.items() if it.default is inspect.Parameter.empty]
    schema = {"type": "object", "properties": {name: _schema_of(it.annotation) for name, it in given.items()}}
    if required:
        schema["required"] = required
    return schema


def _case(enum, name):
    return enum[name.replace("-", "_").upper()]


async def _awaited(value):
    return await value if inspect.isawaitable(value) else value


class Plugin:
    """What a plugin is and offers."""

    def __init__(self, name, version, summary=""):
        self.name, self.version, self.summary = name, version, summary
        self._tools, self._stages, self._events, self._channels, self._hooks = {}, {}, [], {}, {}

    def tool(self, name, description, *, effect="world", min_role=None, parameters=None, stateless=False,
             no_memory=False, cleaner=None, timeout_ms=None):
        """A tool. Its arguments are the handler's, whose annotations become the schema (`Annotated[str, "..."]` adds a
        description); one called `cause` gets the call's cause."""

        def register(handler):
            definition = types.ToolDefinition(
                name=name, description=description, parameters=json.dumps(parameters or _parameters(handler)),
                effect=_case(types.Effect, effect), min_role=min_role and _case(types.Role, min_role),
                stateless=stateless, no_memory=no_memory, cleaner=cleaner, timeout_ms=timeout_ms, meta=[],
            )
            self._tools[name] = (definition, handler)
            return handler

        return register

    def stage(self, stage, *, mode="observe", scope=None, priority=0, on_failure=None, timeout_ms=None):
        """A handler of a stage, one for each. It returns nothing, a patch, or a list of patches, which are those of
        `wit_world.exports.stage_handler`, such as `Patch_SetText`."""

        def register(handler):
            about_calls = stage in ("before-toolcall", "after-toolcall")
            registration = types.StageRegistration(
                stage=_case(types.Stage, stage), mode=_case(types.HandlerMode, mode),
                scope=_case(types.Scope, scope or ("own-tools" if about_calls else "global")), priority=priority,
                on_failure=on_failure and _case(types.FailurePolicy, on_failure), timeout_ms=timeout_ms, meta=[],
            )
            self._stages[registration.stage] = (registration, handler)
            return handler

        return register

    def on(self, topic):
        """A handler of the events of a topic; a last `*` matches any rest. It gets the payload and the event."""

        def register(handler):
            self._events.append((topic, handler))
            return handler

        return register

    def channel(self, name, description, *, capabilities=("text",), help="", show=None):
        """An output channel; the handler delivers an output, and returns the platform's id of it or nothing."""

        def register(handler):
            flags = types.OutputCapabilities(0)
            for capability in capabilities:
                flags |= _case(types.OutputCapabilities, capability)
            definition = types.ChannelDefinition(
                name=name, description=description, capabilities=flags, help=help, streaming=show is not None, meta=[],
            )
            self._channels[name] = (definition, handler, show)
            return handler

        return register

    def life(self, part):
        """A handler of a part of the plugin's life: `start` (gets whether another instance served before),
        `self_check`, `activated`, `stop`."""

        def register(handler):
            self._hooks[part] = handler
            return handler

        return register

    # What the component's exports do ---------------------------------------------------------------------------------

    def descriptor(self):
        return types.Descriptor(
            name=self.name, version=self.version, summary=self.summary,
            tools=[definition for definition, _ in self._tools.values()],
            stages=[registration for registration, _ in self._stages.values()],
            events=[topic for topic, _ in self._events],
            channels=[definition for definition, _, _ in self._channels.values()], listeners=[], meta=[],
        )

    async def hook(self, part, *arguments):
        if part in self._hooks:
            await _awaited(self._hooks[part](*arguments))

    async def call(self, name, args, cause):
        if name not in self._tools:
            raise not_found(f"there is no tool `{name}` here")
        handler = self._tools[name][1]
        arguments = json.loads(args or "{}")
        if "cause" in inspect.signature(handler).parameters:
            arguments["cause"] = cause
        result = await _awaited(handler(**arguments))
        failed = isinstance(result, Failed)
        value = json.dumps(result.value if failed else result, ensure_ascii=False)
        return types.ToolOutput(value=value, media=[], failed=failed, meta=[])

    async def run(self, context):
        patches = await _awaited(self._stages[context.stage][1](context))
        if patches is None:
            return []
        return patches if isinstance(patches, list) else [patches]

    async def on_event(self, event):
        for topic, handler in self._events:
            if event.topic == topic or (topic.endswith("*") and event.topic.startswith(topic[:-1])):
                await _awaited(handler(json.loads(event.payload), event))

    def _channel(self, conversation):
        # A plugin with one channel serves it whatever the host calls it.
        return self._channels.get(conversation.channel) or next(iter(self._channels.values()))

    async def deliver(self, output, cause):
        platform_id = await _awaited(self._channel(output.conversation)[1](output))
        return channel.Receipt(platform_id=platform_id, meta=[])

    async def show(self, deltas):
        show = self._channel(deltas[0].conversation)[2] if deltas else None
        if show:
            await _awaited(show(deltas))
