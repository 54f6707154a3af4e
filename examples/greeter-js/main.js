// A complete plugin: a tool, a stage handler, an event, an output channel and a setting.
import { HostError, channel, on, publish, setting, stage, summary, tool } from "homeagent";

summary("Greets people.");

const rang = [];
const guestBook = [];

tool({
  name: "greet",
  description: "Greets someone by name.",
  parameters: {
    type: "object",
    properties: { name: { type: "string", description: "Whom to greet." } },
    required: ["name"],
  },
  effect: "read",
  call({ name }) {
    if (name === "") throw new HostError("invalid", "the name is empty; ask whom to greet");
    publish("greeted", { name });
    return `${setting("greeting")}, ${name}!`;
  },
});

tool({
  name: "greeter_report",
  description: "Tells who rang the bell and what was written into the guest book.",
  effect: "read",
  call: () => ({ rang, guest_book: guestBook }),
});

// Whatever the agent is about to say is signed.
stage({
  stage: "before-output",
  mode: "rewrite",
  run: ({ output }) => ({ set_text: `${output.text}\n(greetings from the greeter)` }),
});

on("plugin.doorbell.*", ({ payload }) => {
  rang.push(payload.name);
});

channel({
  name: "guest_book",
  description: "A guest book that keeps what is written into it.",
  capabilities: ["text"],
  deliver(output) {
    guestBook.push(output.text);
    return `entry-${guestBook.length}`;
  },
});
