import { setting, summary, tool } from "homeagent";

summary("Greets people.");

tool({
  name: "NAME_greet",
  description: "Greets someone by name.",
  parameters: {
    type: "object",
    properties: { name: { type: "string", description: "Whom to greet." } },
    required: ["name"],
  },
  effect: "read",
  call({ name }) {
    return `${setting("greeting")}, ${name}!`;
  },
});
