// Write HomeAgent plugins in C: short names for the contract's records, and what C lacks - texts and JSON.
//
// `plugin.h` is what wit-bindgen makes of the contract. A plugin defines the exports it needs; for those it leaves out,
// homeagent.c has bodies that do nothing. Whatever a function gives to the host is freed by the bindings, so it has to
// come from `malloc`, as everything here does.

#ifndef HOMEAGENT_H
#define HOMEAGENT_H

#include <stdbool.h>
#include <stddef.h>

#include "plugin.h"

typedef plugin_string_t ha_string;
typedef homeagent_plugin_types_descriptor_t ha_descriptor;
typedef homeagent_plugin_types_error_t ha_error;
typedef homeagent_plugin_types_cause_t ha_cause;
typedef homeagent_plugin_types_tool_output_t ha_tool_output;
typedef exports_homeagent_plugin_stage_handler_stage_context_t ha_stage_context;
typedef exports_homeagent_plugin_stage_handler_list_patch_t ha_patches;
typedef exports_homeagent_plugin_event_handler_event_t ha_event;
typedef exports_homeagent_plugin_channel_output_t ha_output;
typedef exports_homeagent_plugin_channel_receipt_t ha_receipt;

// The exports.
#define ha_describe exports_homeagent_plugin_lifecycle_describe
#define ha_start exports_homeagent_plugin_lifecycle_start
#define ha_self_check exports_homeagent_plugin_lifecycle_self_check
#define ha_activated exports_homeagent_plugin_lifecycle_activated
#define ha_stop exports_homeagent_plugin_lifecycle_stop
#define ha_tool_call exports_homeagent_plugin_tool_provider_call
#define ha_stage_run exports_homeagent_plugin_stage_handler_run
#define ha_on_event exports_homeagent_plugin_event_handler_on_event
#define ha_deliver exports_homeagent_plugin_channel_deliver
#define ha_show exports_homeagent_plugin_channel_show

// A text that grows.
typedef struct {
  char *bytes;
  size_t length, room;
} ha_text;

void ha_add(ha_text *text, const char *more);
// Adds a text as JSON: with quotes around it and escapes in it.
void ha_add_json(ha_text *text, const char *more);
// Gives the text to the host; `text` is empty afterwards.
void ha_give(ha_text *text, ha_string *to);

bool ha_is(const ha_string *string, const char *text);
bool ha_begins(const ha_string *string, const char *text);
// A copy that ends in a zero byte; to be freed.
char *ha_copy(const ha_string *string);

// The text under `key` of a JSON object, without its escapes; to be freed. Null where there is none.
char *ha_json_text(const ha_string *json, const char *key);

// What the plugin offers. Each adds to the descriptor; effects, stages and modes are constants of plugin.h.
void ha_begin(ha_descriptor *descriptor, const char *name, const char *version, const char *summary);
void ha_tool(ha_descriptor *descriptor, const char *name, const char *description, const char *parameters,
             homeagent_plugin_types_effect_t effect);
void ha_stage(ha_descriptor *descriptor, homeagent_plugin_types_stage_t stage,
              homeagent_plugin_types_handler_mode_t mode);
void ha_event_topic(ha_descriptor *descriptor, const char *topic);
void ha_channel(ha_descriptor *descriptor, const char *name, const char *description);

// Answers. Each returns what the export returns.
bool ha_answer_text(ha_tool_output *output, const char *text);
bool ha_answer_json(ha_tool_output *output, ha_text *json);
bool ha_set_text(ha_patches *patches, ha_text *text);
bool ha_invalid(ha_error *error, const char *text);
bool ha_no_tool(ha_error *error, const ha_string *name);

// The host. A setting's text is to be freed; it is null where the setting is none.
char *ha_setting_text(const char *key);
bool ha_publish(const char *topic, ha_text *payload, ha_error *error);

#endif
