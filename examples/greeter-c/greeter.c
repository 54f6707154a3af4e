// A complete plugin: a tool, a stage handler, an event, an output channel and a setting.

#include <stdio.h>
#include <stdlib.h>

#include "homeagent.h"

// Lists of JSON texts, with commas between them.
static ha_text rang, guest_book;
static unsigned entries;

static void remember(ha_text *list, const char *text) {
  if (list->length) ha_add(list, ",");
  ha_add_json(list, text);
}

void ha_describe(ha_descriptor *descriptor) {
  ha_begin(descriptor, "greeter", "0.1.0", "Greets people.");
  ha_tool(descriptor, "greet", "Greets someone by name.",
          "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"description\":\"Whom to greet.\"}},"
          "\"required\":[\"name\"]}",
          HOMEAGENT_PLUGIN_TYPES_EFFECT_READ);
  ha_tool(descriptor, "greeter_report", "Tells who rang the bell and what was written into the guest book.",
          "{\"type\":\"object\",\"properties\":{}}", HOMEAGENT_PLUGIN_TYPES_EFFECT_READ);
  ha_stage(descriptor, HOMEAGENT_PLUGIN_TYPES_STAGE_BEFORE_OUTPUT, HOMEAGENT_PLUGIN_TYPES_HANDLER_MODE_REWRITE);
  ha_event_topic(descriptor, "plugin.doorbell.*");
  ha_channel(descriptor, "guest_book", "A guest book that keeps what is written into it.");
}

static bool greet(const char *name, ha_tool_output *output, ha_error *error) {
  if (!name || !*name) return ha_invalid(error, "the name is empty; ask whom to greet");
  ha_text event = {0}, text = {0};
  ha_add(&event, "{\"name\":");
  ha_add_json(&event, name);
  ha_add(&event, "}");
  if (!ha_publish("greeted", &event, error)) return false;
  char *greeting = ha_setting_text("greeting");
  ha_add(&text, greeting ? greeting : "Hello");
  ha_add(&text, ", ");
  ha_add(&text, name);
  ha_add(&text, "!");
  ha_answer_text(output, text.bytes);
  free(greeting);
  free(text.bytes);
  return true;
}

static bool report(ha_tool_output *output) {
  ha_text json = {0};
  ha_add(&json, "{\"rang\":[");
  if (rang.length) ha_add(&json, rang.bytes);
  ha_add(&json, "],\"guest_book\":[");
  if (guest_book.length) ha_add(&json, guest_book.bytes);
  ha_add(&json, "]}");
  return ha_answer_json(output, &json);
}

bool ha_tool_call(ha_string *name, ha_string *args, ha_cause *cause, ha_tool_output *output, ha_error *error) {
  if (ha_is(name, "greeter_report")) return report(output);
  if (!ha_is(name, "greet")) return ha_no_tool(error, name);
  char *whom = ha_json_text(args, "name");
  bool greeted = greet(whom, output, error);
  free(whom);
  return greeted;
}

// Whatever the agent is about to say is signed.
bool ha_stage_run(ha_stage_context *context, ha_patches *patches, ha_error *error) {
  char *said = ha_copy(&context->data.val.output.text);
  ha_text text = {0};
  ha_add(&text, said);
  ha_add(&text, "\n(greetings from the greeter)");
  free(said);
  return ha_set_text(patches, &text);
}

void ha_on_event(ha_event *event) {
  char *name = ha_json_text(&event->payload, "name");
  if (name) remember(&rang, name);
  free(name);
}

bool ha_deliver(ha_output *output, ha_cause *cause, ha_receipt *receipt, ha_error *error) {
  char *text = ha_copy(&output->text), id[32];
  remember(&guest_book, text);
  free(text);
  snprintf(id, sizeof id, "entry-%u", ++entries);
  receipt->platform_id.is_some = true;
  plugin_string_dup(&receipt->platform_id.val, id);
  receipt->meta.ptr = NULL;
  receipt->meta.len = 0;
  return true;
}
