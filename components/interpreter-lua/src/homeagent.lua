-- The module `homeagent`: what a script says of itself, and what it asks of the host.

local now, random, time = __now, __random, __time
local files, main = __files, __main
local homeagent = { summary = "", null = __null }
__now, __random, __time, __files, __main, __null = nil, nil, nil, nil, nil, nil

-- Errors ---------------------------------------------------------------------------------------------------------------

local failure = {}
failure.__index = failure
function failure.__tostring(self) return self.message end

-- Where in its files the script stands: `main.lua:4: `, or nothing.
local function place()
  for level = 3, 20 do
    local _, where = pcall(error, "", level)
    if where ~= "" and not where:find("^=?homeagent:") then return where end
  end
  return ""
end

-- Raises an error of one of the contract's kinds: `invalid`, `not-found`, `busy`, `retryable`, `other`.
function homeagent.raise(kind, message)
  error(setmetatable({ kind = kind, message = message, place = place() }, failure), 0)
end

local function answer(ok, value, message)
  if ok then return value end
  homeagent.raise(value, message)
end

-- The host -------------------------------------------------------------------------------------------------------------

-- No script can make this value, so a yield that begins with it is one of ours.
local WAIT = setmetatable({}, { __metatable = false })
local yield, resume, running = coroutine.yield, coroutine.resume, coroutine.running
local pack, unpack = table.pack, table.unpack

local function wait(name, argument)
  local _, is_main = running()
  if is_main then homeagent.raise("other", "what waits for the host can't be called while the script is loaded") end
  return answer(yield(WAIT, name, argument))
end

-- A wait inside of a script's own coroutine goes through to the call that runs it.
function coroutine.resume(thread, ...)
  local results = pack(resume(thread, ...))
  while results[1] and rawequal(results[2], WAIT) do
    results = pack(resume(thread, yield(unpack(results, 2, results.n))))
  end
  return unpack(results, 1, results.n)
end

function coroutine.wrap(body)
  local thread = coroutine.create(body)
  return function(...)
    local results = pack(coroutine.resume(thread, ...))
    if not results[1] then error(results[2], 0) end
    return unpack(results, 2, results.n)
  end
end

function homeagent.setting(key) return answer(now("setting", key)) end
function homeagent.set_setting(key, value) answer(now("set-setting", { key = key, value = value })) end
function homeagent.publish(topic, payload) answer(now("publish", { topic = topic, payload = payload })) end

-- The value that the tool returned, and its whole output.
function homeagent.call_tool(name, arguments, cause)
  local output = wait("call-tool", { name = name, arguments = arguments or {}, cause = cause })
  return output.value, output
end

function homeagent.submit(submission) return wait("submit", submission) end
function homeagent.interrupt(submission) return wait("interrupt", submission) end
function homeagent.stop_turn(submission) return wait("stop-turn", submission) end

-- The answer, with `status`, `headers`, `body` and `url`.
function homeagent.http(request) return wait("http", request) end

-- In hexadecimal digits.
function homeagent.sign(name, algorithm, data)
  return answer(now("sign", { name = name, algorithm = algorithm, data = data }))
end

-- Its own keys and values.
homeagent.kv = {
  get = function(key) return wait("kv-get", { key = key }) end,
  set = function(key, value) wait("kv-set", { key = key, value = value }) end,
  delete = function(key) return wait("kv-delete", { key = key }) end,
  list = function(prefix, after) return wait("kv-list", { prefix = prefix or "", after = after }) end,
}

-- Files in the folders that it was granted, and in `data`.
local function file(folder, path, more)
  more = more or {}
  more.folder, more.path = folder, path
  return more
end
homeagent.files = {
  read = function(folder, path, offset, length)
    return wait("files-read", file(folder, path, { offset = offset or 0, length = length }))
  end,
  write = function(folder, path, content) wait("files-write", file(folder, path, { content = content })) end,
  append = function(folder, path, content) wait("files-append", file(folder, path, { content = content })) end,
  list = function(folder, path, after) return wait("files-list", file(folder, path or "", { after = after })) end,
  stat = function(folder, path) return wait("files-stat", file(folder, path)) end,
  make_folder = function(folder, path) wait("files-make-folder", file(folder, path)) end,
  remove = function(folder, path) wait("files-remove", file(folder, path)) end,
  rename = function(folder, from, to) wait("files-rename", file(folder, from, { to = to })) end,
}

-- What the agent remembers, as far as those may know it who read what comes of the call that `cause` belongs to.
homeagent.memory = {
  recall = function(text, cause, limit) return wait("memory-recall", { text = text, cause = cause, limit = limit }) end,
  note = function(text, cause) return wait("memory-note", { text = text, cause = cause }) end,
}
homeagent.knowledge = {
  search = function(text, cause, base, limit)
    return wait("knowledge-search", { text = text, cause = cause, base = base, limit = limit })
  end,
  list = function(cause) return wait("knowledge-list", { cause = cause }) end,
  append = function(base, text) wait("knowledge-append", { base = base, text = text }) end,
}
function homeagent.people(name, cause) return wait("people", { text = name or "", cause = cause }) end

-- A program of those that it was granted.
function homeagent.run(command) return wait("run", command) end

-- Timers that the host keeps; `on_timer` is told when one fires.
homeagent.timers = {
  at = function(name, time, payload) return wait("timers-set", { name = name, at = time, payload = payload }) end,
  every = function(name, interval, payload) return wait("timers-set", { name = name, every = interval, payload = payload }) end,
  calendar = function(name, time, payload) return wait("timers-set", { name = name, calendar = time, payload = payload }) end,
  cancel = function(name) return wait("timers-cancel", { name = name }) end,
  list = function() return wait("timers-list", {}) end,
}

-- Timers and inputs for whoever caused a call.
local function errand(what)
  return function(name, time, payload, cause)
    return wait("errands-set", { name = name, [what] = time, payload = payload, cause = cause })
  end
end
homeagent.errands = {
  at = errand("at"), every = errand("every"), calendar = errand("calendar"),
  change = function(name, schedule, payload)
    local timer = { name = name, payload = payload }
    for key, value in pairs(schedule) do timer[key] = value end
    return wait("errands-change", timer)
  end,
  submit = function(submission, cause)
    local whole = { cause = cause }
    for key, value in pairs(submission) do whole[key] = value end
    return wait("errands-submit", whole)
  end,
}

-- Connections: those that it makes itself, and streams of events that its answers begin.
function homeagent.connect(target) wait("connect", target) end
function homeagent.disconnect(name) answer(now("disconnect", name)) end
function homeagent.send(connection, text) wait("send", { connection = connection, text = text }) end
function homeagent.close(connection, reason) answer(now("close", { connection = connection, text = reason or "" })) end

homeagent.log = {}
for _, level in ipairs { "trace", "debug", "info", "warn", "error" } do
  homeagent.log[level] = function(message) answer(now("log", { level = level, message = tostring(message) })) end
end

-- What needs no host -----------------------------------------------------------------------------------------------------

homeagent.json = {
  read = function(text) return answer(now("json-read", text)) end,
  write = function(value) return answer(now("json-write", value)) end,
}

homeagent.base64 = {
  read = function(text) return answer(now("base64-read", text)) end,
  write = function(text) return answer(now("base64-write", text)) end,
}

-- The parts of a message as one text.
function homeagent.text_of(parts) return answer(now("text-of", parts)) end

-- The chat completions protocol, which most vendors speak, for adapters of those who nearly do.
homeagent.completions = {
  request = function(request, style)
    return answer(now("completions-request", { request = request, style = style }))
  end,
  chunk = function(event) return answer(now("completions-chunk", event)) end,
  response = function(response) return answer(now("completions-response", response)) end,
  error = function(response) return answer(now("completions-error", response)) end,
}

-- What the script offers -----------------------------------------------------------------------------------------------

local tools, stages, subscriptions, channels, hooks = {}, {}, {}, {}, {}
local tool_names, stage_names, channel_names = {}, {}, {}

local function check(definition, name, handler)
  if type(definition) ~= "table" then error("a table is expected, such as { " .. name .. " = ... }", 3) end
  if type(definition[name]) ~= "string" then error("`" .. name .. "` has to be a text", 3) end
  if type(definition[handler]) ~= "function" then error("`" .. handler .. "` has to be a function", 3) end
end

local function without(definition, ...)
  local rest = {}
  for key, value in pairs(definition) do rest[key] = value end
  for _, key in ipairs { ... } do rest[key] = nil end
  return rest
end

local function add(all, names, key, definition)
  local name = definition[key]
  if all[name] then error("`" .. name .. "` is there already", 3) end
  all[name] = definition
  names[#names + 1] = name
end

function homeagent.tool(definition)
  check(definition, "name", "call")
  add(tools, tool_names, "name", definition)
end

-- Replaces all tools while the plugin runs.
function homeagent.replace_tools(definitions)
  local all, names, told = {}, {}, homeagent.list {}
  for _, definition in ipairs(definitions) do
    check(definition, "name", "call")
    add(all, names, "name", definition)
    told[#told + 1] = without(definition, "call")
  end
  wait("replace-tools", told)
  tools, tool_names = all, names
end

function homeagent.stage(definition)
  check(definition, "stage", "run")
  add(stages, stage_names, "stage", definition)
end

-- Receives the events of a topic; a last `*` matches any rest.
function homeagent.on(topic, handler)
  if type(topic) ~= "string" or type(handler) ~= "function" then error("a topic and a function are expected", 2) end
  subscriptions[#subscriptions + 1] = { topic = topic, handler = handler }
end

function homeagent.channel(definition)
  check(definition, "name", "deliver")
  add(channels, channel_names, "name", definition)
end

for _, name in ipairs { "start", "self_check", "activated", "stop", "on_timer", "on_open", "on_frames", "on_close", "on_request" } do
  homeagent[name] = function(handler) hooks[name] = handler end
end

-- A result that says that the tool did not succeed.
local failed = {}
function homeagent.failed(value) return setmetatable({ value = value }, failed) end

local adapter
-- Makes the script the adapter of a vendor: a table with `transform_request` and other functions.
function homeagent.adapter(definition)
  if type(definition) ~= "table" or type(definition.transform_request) ~= "function" then
    error("an adapter is a table with a function `transform_request`", 2)
  end
  if adapter then error("the script is an adapter already", 2) end
  adapter = definition
end

local list = {}
-- Makes a table a list in JSON even when it is empty.
function homeagent.list(values) return setmetatable(values or {}, list) end

-- Calls of the host ----------------------------------------------------------------------------------------------------

local calls = {}

local function all(definitions, names, ...)
  local told = homeagent.list {}
  for _, name in ipairs(names) do told[#told + 1] = without(definitions[name], ...) end
  return told
end

function calls.describe()
  if adapter then homeagent.raise("other", "it is an adapter, so plugin.toml has to say kind = \"adapter\"") end
  local topics = homeagent.list {}
  for _, subscription in ipairs(subscriptions) do topics[#topics + 1] = subscription.topic end
  return {
    summary = homeagent.summary,
    tools = all(tools, tool_names, "call"),
    stages = all(stages, stage_names, "run"),
    channels = all(channels, channel_names, "deliver", "show"),
    events = topics,
  }
end

function calls.start(argument) if hooks.start then hooks.start(argument.resumed) end end
calls["self-check"] = function() if hooks.self_check then hooks.self_check() end end
function calls.activated() if hooks.activated then hooks.activated() end end
function calls.stop() if hooks.stop then hooks.stop() end end

function calls.timer(firing) if hooks.on_timer then return hooks.on_timer(firing) end end

function calls.open(about) if hooks.on_open then hooks.on_open(about) end end
function calls.frames(said) if hooks.on_frames then hooks.on_frames(said.connection, said.frames) end end
function calls.close(gone) if hooks.on_close then hooks.on_close(gone.connection, gone.reason) end end

function calls.request(request)
  if not hooks.on_request then homeagent.raise("not-found", "nothing here answers requests") end
  return hooks.on_request(request)
end

function calls.tool(argument)
  local tool = tools[argument.name]
  if not tool then homeagent.raise("not-found", "there is no tool `" .. argument.name .. "` here") end
  local result = tool.call(argument.arguments, argument.cause)
  if getmetatable(result) == failed then return { value = result.value, failed = true } end
  return { value = result }
end

function calls.stage(context) return stages[context.stage].run(context) end

local function matches(topic, pattern)
  if pattern:sub(-1) ~= "*" then return topic == pattern end
  return topic:sub(1, #pattern - 1) == pattern:sub(1, -2)
end

function calls.event(event)
  for _, subscription in ipairs(subscriptions) do
    if matches(event.topic, subscription.topic) then subscription.handler(event) end
  end
end

-- A script with one channel serves it whatever the host calls it.
local function channel_of(conversation)
  return channels[conversation.channel] or channels[channel_names[1]]
end

function calls.deliver(argument)
  return channel_of(argument.output.conversation).deliver(argument.output, argument.cause)
end

function calls.show(deltas)
  local first = deltas[1]
  local channel = first and channel_of(first.conversation)
  if channel and channel.show then channel.show(deltas) end
end

calls["adapter-describe"] = function()
  if not adapter then homeagent.raise("other", "the script is no adapter: homeagent.adapter { ... } makes it one") end
  local told, functions = { summary = homeagent.summary }, homeagent.list {}
  for key, value in pairs(adapter) do
    if type(value) == "function" then functions[#functions + 1] = key else told[key] = value end
  end
  told.functions = functions
  return told
end

function calls.adapter(call)
  local handler = adapter and adapter[call["function"]]
  if not handler then return { missing = true } end
  return { returned = handler(call.argument) }
end

local function finish(what, ok, result)
  if ok then return true, result end
  if getmetatable(result) == failure then
    -- Who reads it has nothing but the sentence.
    local message = what == "adapter" and result.place .. result.message or result.message
    return false, result.kind, message
  end
  return false, "other", tostring(result)
end

-- The body of a coroutine that serves one call after the other. It yields true and what was returned, or false, the kind
-- of the error and its message.
function __serve(what, argument)
  while true do
    what, argument = yield(finish(what, pcall(calls[what], argument)))
  end
end

-- The standard library -------------------------------------------------------------------------------------------------

function print(...)
  local parts = {}
  for at = 1, select("#", ...) do parts[at] = tostring((select(at, ...))) end
  homeagent.log.info(table.concat(parts, "\t"))
end

local randomseed = math.randomseed
function math.randomseed(first, second)
  if first == nil then first, second = random(), random() end
  return randomseed(first, second or 0)
end
math.randomseed()

local began = time()
os = {
  time = function() return math.floor(time()) end,
  clock = function() return time() - began end,
}
dofile, loadfile = nil, nil

local loaded = { homeagent = homeagent }

local function run(name)
  local chunk, reason = load(files[name], "@" .. name, "t")
  if not chunk then error(reason, 0) end
  return chunk()
end

-- The modules of a plugin are the other .lua files in its folder.
function require(name)
  if loaded[name] == nil then
    if not files[name .. ".lua"] then error("there is no " .. name .. ".lua beside " .. main, 2) end
    local result = run(name .. ".lua")
    loaded[name] = result == nil and true or result
  end
  return loaded[name]
end

if files[main] then
  local ok, reason = pcall(run, main)
  if not ok and getmetatable(reason) == failure then reason = reason.place .. reason.message end
  if not ok then error(reason, 0) end
end
