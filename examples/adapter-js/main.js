// The adapter of Lantern, a vendor made up for this example: docs/adapters.md walks through it.

import { adapter, summary, textOf } from "homeagent";

summary("Lantern, a vendor made up for an example");

const FINISH = { settled: "stop", gadget: "tool-calls", full: "length", forbidden: "content-filter" };
const CLASS = { "no-entry": "auth", "slow-down": "rate-limited", tired: "overloaded" };

// What an error means is said by its class: the host decides by it what to do.
const failure = ({ code, text }) => ({ class: CLASS[code] ?? "bad-request", message: text ?? "it gave no reason" });

// A message as a line of the dialogue.
function line({ system, user, assistant, tool }) {
  if (system !== undefined) return { who: "guide", says: system };
  if (user) return { who: "guest", says: textOf(user) };
  if (tool) return { who: "gadget", ref: tool.call, says: textOf(tool.content) };
  const uses = assistant.tool_calls.map((call) => ({ ref: call.id, gadget: call.name, with: call.arguments }));
  return { who: "me", says: assistant.text, uses };
}

// A part of an answer: one comes in each event of a stream, or all of them in a list.
function pieces({ muse, say, use, spent, done, trouble }) {
  return {
    reasoning: muse,
    text: say,
    tool_call: use && { id: use.ref, name: use.gadget, arguments: use.with },
    usage: spent && { input: spent.heard, output: spent.spoken },
    finish: done && (FINISH[done] ?? "other"),
    error: trouble && failure(trouble),
  };
}

adapter({
  base_url: "https://api.lantern.example/v1",
  model: "alto",
  key: { header: "x-lantern-key" },
  features: ["tools", "reasoning"],

  transform_request({ model, messages, tools, stream }) {
    const gadgets = tools.map((tool) => ({ name: tool.name, about: tool.description, form: tool.parameters }));
    return { path: "/talk", json: { voice: model, dialogue: messages.map(line), gadgets, live: stream } };
  },

  transform_stream_chunk: (event) => pieces(event.json),

  transform_response: (response) => response.json.parts.map(pieces),

  // What is not the vendor's own, such as a page of a proxy on the way, its status says.
  transform_error: (response) => response.json?.trouble && failure(response.json.trouble),

  transform_models_request: () => ({ path: "/voices" }),

  transform_models: (response) => response.json.voices.map(({ name, reach }) => ({ id: name, context_window: reach })),
});
