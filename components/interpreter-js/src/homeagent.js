// The module `homeagent`: what a script says of itself, and what it asks of the host.

const { __now: now, __wait: wait } = globalThis;
delete globalThis.__now;
delete globalThis.__wait;

/** An error of one of the contract's kinds: `invalid`, `not-found`, `denied`, `busy`, `retryable`, `other`. */
export class HostError extends Error {
  constructor(kind, message) {
    super(message);
    this.name = "HostError";
    this.kind = kind;
  }
}

// The host ------------------------------------------------------------------------------------------------------------

function opened(answer) {
  const { ok, kind, message } = JSON.parse(answer);
  if (kind !== undefined) throw new HostError(kind, message);
  return ok;
}

function written(value) {
  return JSON.stringify(value === undefined ? null : value);
}

function ask(name, argument) {
  return opened(now(name, written(argument)));
}

const waiting = new Map();
let lastRequest = 0;

function request(name, argument) {
  return new Promise((resolve, reject) => {
    const id = ++lastRequest;
    waiting.set(id, { resolve, reject });
    wait(id, name, written(argument));
  });
}

export const setting = (key) => ask("setting", key);
export const setSetting = (key, value) => ask("set-setting", { key, value });
export const publish = (topic, payload = null) => ask("publish", { topic, payload });

/** The value that the tool returned. */
export async function callTool(name, args, cause) {
  return (await request("call-tool", { name, arguments: args ?? {}, cause })).value;
}

export const submit = (submission) => request("submit", submission);
export const interrupt = (submission) => request("interrupt", submission);
export const stopTurn = (submission) => request("stop-turn", submission);

/** The answer, with `status`, `headers`, `body` and `url`. */
export const http = (message) => request("http", message);
/** In hexadecimal digits. */
export const sign = (name, algorithm, data) => ask("sign", { name, algorithm, data });

/** Its own keys and values. */
export const kv = {
  get: (key) => request("kv-get", { key }),
  set: (key, value) => request("kv-set", { key, value }),
  delete: (key) => request("kv-delete", { key }),
  list: (prefix = "", after) => request("kv-list", { prefix, after }),
};

/** Files in the folders that it was granted, and in `data`. */
export const files = {
  read: (folder, path, offset = 0, length) => request("files-read", { folder, path, offset, length }),
  write: (folder, path, content) => request("files-write", { folder, path, content }),
  append: (folder, path, content) => request("files-append", { folder, path, content }),
  list: (folder, path = "", after) => request("files-list", { folder, path, after }),
  stat: (folder, path) => request("files-stat", { folder, path }),
  makeFolder: (folder, path) => request("files-make-folder", { folder, path }),
  remove: (folder, path) => request("files-remove", { folder, path }),
  rename: (folder, path, to) => request("files-rename", { folder, path, to }),
};

/** What the agent remembers, as far as those may know it who read what comes of the call that `cause` belongs to. */
export const memory = {
  recall: (text, cause, limit) => request("memory-recall", { text, cause, limit }),
  note: (text, cause) => request("memory-note", { text, cause }),
};
export const knowledge = {
  search: (text, cause, base, limit) => request("knowledge-search", { text, cause, base, limit }),
  list: (cause) => request("knowledge-list", { cause }),
  append: (base, text) => request("knowledge-append", { base, text }),
};
export const people = (name = "", cause) => request("people", { text: name, cause });

/** A program of those that it was granted. */
export const run = (command) => request("run", command);

/** Timers that the host keeps; `onTimer` is told when one fires. */
export const timers = {
  at: (name, time, payload = null) => request("timers-set", { name, at: time, payload }),
  every: (name, interval, payload = null) => request("timers-set", { name, every: interval, payload }),
  calendar: (name, time, payload = null) => request("timers-set", { name, calendar: time, payload }),
  cancel: (name) => request("timers-cancel", { name }),
  list: () => request("timers-list", {}),
};

/** Timers and inputs for whoever caused a call. */
export const errands = {
  at: (name, time, payload, cause) => request("errands-set", { name, at: time, payload, cause }),
  every: (name, interval, payload, cause) => request("errands-set", { name, every: interval, payload, cause }),
  calendar: (name, time, payload, cause) => request("errands-set", { name, calendar: time, payload, cause }),
  change: (name, schedule, payload = null) => request("errands-change", { name, ...schedule, payload }),
  submit: (submission, cause) => request("errands-submit", { ...submission, cause }),
};

/** Connections: those that it makes itself, and streams of events that its answers begin. */
export const connect = (target) => request("connect", target);
export const disconnect = (name) => ask("disconnect", name);
export const send = (connection, text) => request("send", { connection, text });
export const close = (connection, reason = "") => ask("close", { connection, text: reason });

/** The parts of a message as one text. */
export const textOf = (parts) => ask("text-of", parts);

/** Texts in Base64. */
export const base64 = {
  read: (text) => ask("base64-read", text),
  write: (text) => ask("base64-write", text),
};

/** The chat completions protocol, which most vendors speak, for adapters of those who nearly do. */
export const completions = {
  request: (asked, style) => ask("completions-request", { request: asked, style }),
  chunk: (event) => ask("completions-chunk", event),
  response: (response) => ask("completions-response", response),
  error: (response) => ask("completions-error", response),
};

const writer = (level) => (...parts) =>
  ask("log", { level, message: parts.map((it) => (typeof it === "string" ? it : written(it) ?? String(it))).join(" ") });
export const log = {
  trace: writer("trace"),
  debug: writer("debug"),
  info: writer("info"),
  warn: writer("warn"),
  error: writer("error"),
};
globalThis.console = { ...log, log: log.info };

// What the script offers -----------------------------------------------------------------------------------------------

let line = "";
let transforms;
let tools = new Map();
const stages = new Map();
const channels = new Map();
const subscriptions = [];
const hooks = {};

function add(all, definition, name, handler) {
  if (typeof definition?.[name] !== "string") throw new TypeError(`\`${name}\` has to be a text`);
  if (typeof definition[handler] !== "function") throw new TypeError(`\`${handler}\` has to be a function`);
  if (all.has(definition[name])) throw new TypeError(`\`${definition[name]}\` is there already`);
  all.set(definition[name], definition);
}

/** One line for people. */
export const summary = (text) => void (line = text);
export const tool = (definition) => add(tools, definition, "name", "call");
export const stage = (definition) => add(stages, definition, "stage", "run");
export const channel = (definition) => add(channels, definition, "name", "deliver");

/** Makes the script the adapter of a vendor: an object with `transform_request` and other functions. */
export function adapter(definition) {
  if (typeof definition?.transform_request !== "function") {
    throw new TypeError("an adapter is an object with a function `transform_request`");
  }
  if (transforms) throw new TypeError("the script is an adapter already");
  transforms = definition;
}

/** Receives the events of a topic; a last `*` matches any rest. */
export function on(topic, handler) {
  if (typeof topic !== "string" || typeof handler !== "function") throw new TypeError("a topic and a function are expected");
  subscriptions.push({ topic, handler });
}

/** Replaces all tools while the plugin runs. */
export async function replaceTools(definitions) {
  const all = new Map();
  for (const definition of definitions) add(all, definition, "name", "call");
  await request("replace-tools", told(all));
  tools = all;
}

export const started = (handler) => void (hooks.start = handler);
export const selfCheck = (handler) => void (hooks.selfCheck = handler);
export const activated = (handler) => void (hooks.activated = handler);
export const stopped = (handler) => void (hooks.stop = handler);
export const onTimer = (handler) => void (hooks.timer = handler);
export const onOpen = (handler) => void (hooks.open = handler);
export const onFrames = (handler) => void (hooks.frames = handler);
export const onClose = (handler) => void (hooks.close = handler);
export const onRequest = (handler) => void (hooks.request = handler);

class Failed {
  constructor(value) {
    this.value = value;
  }
}

/** A result that says that the tool did not succeed. */
export const failed = (value) => new Failed(value);

// Calls of the host ----------------------------------------------------------------------------------------------------

// JSON leaves functions out, so a definition is told without its handlers.
const told = (definitions) => [...definitions.values()];

function matches(topic, pattern) {
  return pattern.endsWith("*") ? topic.startsWith(pattern.slice(0, -1)) : topic === pattern;
}

// A script with one channel serves it whatever the host calls it.
function channelOf(conversation) {
  return channels.get(conversation.channel) ?? channels.values().next().value;
}

const calls = {
  describe() {
    if (transforms) throw new HostError("other", 'it is an adapter, so plugin.toml has to say kind = "adapter"');
    return {
      summary: line,
      tools: told(tools),
      stages: told(stages),
      channels: told(channels),
      events: subscriptions.map(({ topic }) => topic),
    };
  },
  "adapter-describe"() {
    if (!transforms) throw new HostError("other", "the script is no adapter: adapter({ ... }) makes it one");
    const functions = Object.keys(transforms).filter((key) => typeof transforms[key] === "function");
    return { summary: line, ...transforms, functions };
  },
  async adapter({ function: name, argument }) {
    if (!transforms?.[name]) return { missing: true };
    return { returned: await transforms[name](argument) };
  },
  start: ({ resumed }) => hooks.start?.(resumed),
  "self-check": () => hooks.selfCheck?.(),
  activated: () => hooks.activated?.(),
  stop: () => hooks.stop?.(),
  timer: (firing) => hooks.timer?.(firing),
  open: (about) => hooks.open?.(about),
  frames: ({ connection, frames }) => hooks.frames?.(connection, frames),
  close: ({ connection, reason }) => hooks.close?.(connection, reason),
  request(asked) {
    if (!hooks.request) throw new HostError("not-found", "nothing here answers requests");
    return hooks.request(asked);
  },
  async tool({ name, arguments: args, cause }) {
    const found = tools.get(name);
    if (!found) throw new HostError("not-found", `there is no tool \`${name}\` here`);
    const result = await found.call(args, cause);
    return result instanceof Failed ? { value: result.value, failed: true } : { value: result };
  },
  stage: (context) => stages.get(context.stage).run(context),
  async event(event) {
    for (const { topic, handler } of subscriptions) if (matches(event.topic, topic)) await handler(event);
  },
  deliver: ({ output, cause }) => channelOf(output.conversation).deliver(output, cause),
  show: (deltas) => (deltas.length > 0 ? channelOf(deltas[0].conversation)?.show?.(deltas) : undefined),
};

// What was thrown, and where in the script's files.
function raised(error) {
  const place = /([^\s()]+\.js):(\d+)/.exec(error?.stack ?? "");
  const placed = (text) => (place ? `${place[1]}:${place[2]}: ${text}` : text);
  if (error instanceof HostError) {
    // Who reads what becomes of an adapter's has nothing but the sentence.
    return { kind: error.kind, message: transforms ? placed(error.message) : error.message };
  }
  return { kind: "other", message: placed(error instanceof Error ? `${error.name}: ${error.message}` : String(error)) };
}

const outcomes = new Map();

globalThis.__side = {
  serve(id, what, argument) {
    const run = async () => calls[what](JSON.parse(argument));
    run().then(
      (value) => outcomes.set(id, written({ ok: value })),
      (error) => outcomes.set(id, written(raised(error))),
    ).catch((error) => outcomes.set(id, written(raised(error))));
  },
  outcome(id) {
    const outcome = outcomes.get(id);
    outcomes.delete(id);
    return outcome;
  },
  answer(id, answer) {
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    try {
      resolve(opened(answer));
    } catch (error) {
      reject(error);
    }
  },
  raised: (error) => raised(error).message,
};
