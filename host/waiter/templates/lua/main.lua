local homeagent = require("homeagent")

homeagent.summary = "Greets people."

homeagent.tool {
  name = "NAME_greet",
  description = "Greets someone by name.",
  parameters = {
    type = "object",
    properties = { name = { type = "string", description = "Whom to greet." } },
    required = { "name" },
  },
  effect = "read",
  call = function(arguments)
    return homeagent.setting("greeting") .. ", " .. arguments.name .. "!"
  end,
}
