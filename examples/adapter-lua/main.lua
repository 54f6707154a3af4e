-- The adapter of Lantern, a vendor made up for this example: docs/adapters.md walks through it.

local homeagent = require("homeagent")

homeagent.summary = "Lantern, a vendor made up for an example"

local FINISH = { settled = "stop", gadget = "tool-calls", full = "length", forbidden = "content-filter" }
local CLASS = { ["no-entry"] = "auth", ["slow-down"] = "rate-limited", tired = "overloaded" }

-- What an error means is said by its class: the host decides by it what to do.
local function failure(trouble)
  return { class = CLASS[trouble.code] or "bad-request", message = trouble.text or "it gave no reason" }
end

-- A message as a line of the dialogue.
local function line(message)
  if message.system then return { who = "guide", says = message.system } end
  if message.user then return { who = "guest", says = homeagent.text_of(message.user) } end
  if message.tool then
    return { who = "gadget", ref = message.tool.call, says = homeagent.text_of(message.tool.content) }
  end
  local uses = homeagent.list {}
  for _, call in ipairs(message.assistant.tool_calls) do
    uses[#uses + 1] = { ref = call.id, gadget = call.name, with = call.arguments }
  end
  return { who = "me", says = message.assistant.text, uses = uses }
end

-- A part of an answer: one comes in each event of a stream, or all of them in a list.
local function pieces(part)
  local call, spent = part.use, part.spent
  return {
    reasoning = part.muse,
    text = part.say,
    tool_call = call and { id = call.ref, name = call.gadget, arguments = call.with },
    usage = spent and { input = spent.heard, output = spent.spoken },
    finish = part.done and (FINISH[part.done] or "other"),
    error = part.trouble and failure(part.trouble),
  }
end

homeagent.adapter {
  base_url = "https://api.lantern.example/v1",
  model = "alto",
  key = { header = "x-lantern-key" },
  features = { "tools", "reasoning" },

  transform_request = function(request)
    local dialogue, gadgets = homeagent.list {}, homeagent.list {}
    for _, message in ipairs(request.messages) do dialogue[#dialogue + 1] = line(message) end
    for _, tool in ipairs(request.tools) do
      gadgets[#gadgets + 1] = { name = tool.name, about = tool.description, form = tool.parameters }
    end
    local body = { voice = request.model, dialogue = dialogue, gadgets = gadgets, live = request.stream }
    return { path = "/talk", json = body }
  end,

  transform_stream_chunk = function(event) return pieces(event.json) end,

  transform_response = function(response)
    local all = {}
    for _, part in ipairs(response.json.parts) do all[#all + 1] = pieces(part) end
    return all
  end,

  -- What is not the vendor's own, such as a page of a proxy on the way, its status says.
  transform_error = function(response)
    local trouble = response.json and response.json.trouble
    return trouble and failure(trouble)
  end,

  transform_models_request = function() return { path = "/voices" } end,

  transform_models = function(response)
    local models = {}
    for _, voice in ipairs(response.json.voices) do
      models[#models + 1] = { id = voice.name, context_window = voice.reach }
    end
    return models
  end,
}
