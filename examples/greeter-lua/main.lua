-- A complete plugin: a tool, a stage handler, an event, an output channel and a setting.
local homeagent = require("homeagent")

homeagent.summary = "Greets people."

local rang = {}
local guest_book = {}

homeagent.tool {
  name = "greet",
  description = "Greets someone by name.",
  parameters = {
    type = "object",
    properties = { name = { type = "string", description = "Whom to greet." } },
    required = { "name" },
  },
  effect = "read",
  call = function(arguments)
    if arguments.name == "" then homeagent.raise("invalid", "the name is empty; ask whom to greet") end
    homeagent.publish("greeted", { name = arguments.name })
    return homeagent.setting("greeting") .. ", " .. arguments.name .. "!"
  end,
}

homeagent.tool {
  name = "greeter_report",
  description = "Tells who rang the bell and what was written into the guest book.",
  effect = "read",
  call = function()
    return { rang = homeagent.list(rang), guest_book = homeagent.list(guest_book) }
  end,
}

-- Whatever the agent is about to say is signed.
homeagent.stage {
  stage = "before-output",
  mode = "rewrite",
  run = function(context)
    return { set_text = context.output.text .. "\n(greetings from the greeter)" }
  end,
}

homeagent.on("plugin.doorbell.*", function(event)
  rang[#rang + 1] = event.payload.name
end)

homeagent.channel {
  name = "guest_book",
  description = "A guest book that keeps what is written into it.",
  capabilities = { "text" },
  deliver = function(output)
    guest_book[#guest_book + 1] = output.text
    return "entry-" .. #guest_book
  end,
}
