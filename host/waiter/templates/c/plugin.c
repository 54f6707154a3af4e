// A HomeAgent plugin.

#include <stdlib.h>

#include "homeagent.h"

void ha_describe(ha_descriptor *descriptor) {
  ha_begin(descriptor, "NAME", "0.1.0", "Greets people.");
  ha_tool(descriptor, "NAME_greet", "Greets someone by name.",
          "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"description\":\"Whom to greet.\"}},"
          "\"required\":[\"name\"]}",
          HOMEAGENT_PLUGIN_TYPES_EFFECT_READ);
}

bool ha_tool_call(ha_string *name, ha_string *args, ha_cause *cause, ha_tool_output *output, ha_error *error) {
  char *whom = ha_json_text(args, "name");
  if (!whom) return ha_invalid(error, "the argument `name` is missing");
  char *greeting = ha_setting_text("greeting");
  ha_text text = {0};
  ha_add(&text, greeting ? greeting : "Hello");
  ha_add(&text, ", ");
  ha_add(&text, whom);
  ha_add(&text, "!");
  ha_answer_text(output, text.bytes);
  free(text.bytes);
  free(greeting);
  free(whom);
  return true;
}
