#include "homeagent.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// Memory that there is no way to go on without.
static void *have(void *memory) {
  if (!memory) abort();
  return memory;
}

static void add_bytes(ha_text *text, const char *bytes, size_t length) {
  if (text->length + length + 1 > text->room) {
    text->room = (text->length + length + 1) * 2;
    text->bytes = have(realloc(text->bytes, text->room));
  }
  memcpy(text->bytes + text->length, bytes, length);
  text->length += length;
  text->bytes[text->length] = 0;
}

void ha_add(ha_text *text, const char *more) { add_bytes(text, more, strlen(more)); }

void ha_add_json(ha_text *text, const char *more) {
  static const char digits[] = "0123456789abcdef";
  ha_add(text, "\"");
  for (const char *at = more; *at; at++) {
    unsigned char byte = (unsigned char)*at;
    if (byte == '"' || byte == '\\') {
      char escaped[] = {'\\', (char)byte};
      add_bytes(text, escaped, 2);
    } else if (byte < 0x20) {
      char escaped[] = {'\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15]};
      add_bytes(text, escaped, 6);
    } else {
      add_bytes(text, at, 1);
    }
  }
  ha_add(text, "\"");
}

void ha_give(ha_text *text, ha_string *to) {
  ha_add(text, "");
  to->ptr = (void *)text->bytes;
  to->len = text->length;
  *text = (ha_text){0};
}

static void set(ha_string *to, const char *text) { plugin_string_dup(to, text); }

bool ha_is(const ha_string *string, const char *text) {
  return string->len == strlen(text) && memcmp(string->ptr, text, string->len) == 0;
}

bool ha_begins(const ha_string *string, const char *text) {
  return string->len >= strlen(text) && memcmp(string->ptr, text, strlen(text)) == 0;
}

char *ha_copy(const ha_string *string) {
  char *copy = have(malloc(string->len + 1));
  memcpy(copy, string->ptr, string->len);
  copy[string->len] = 0;
  return copy;
}

// JSON --------------------------------------------------------------------------------------------------------------

// A place in a JSON text that the host has checked; it ends in a zero byte.
static const char *skip_space(const char *at) { return at + strspn(at, " \t\r\n"); }

static const char *skip_string(const char *at) {
  for (at++; *at && *at != '"'; at++)
    if (*at == '\\' && at[1]) at++;
  return *at ? at + 1 : at;
}

// The place after a value, however deep it is.
static const char *skip_value(const char *at) {
  size_t depth = 0;
  do {
    at = skip_space(at);
    if (*at == '"') {
      at = skip_string(at);
      continue;
    }
    if (*at == '{' || *at == '[') depth++;
    if ((*at == '}' || *at == ']') && depth > 0) depth--;
    if (*at) at++;
    if (depth == 0) at += strcspn(at, ",]} \t\r\n");
  } while (depth > 0 && *at);
  return at;
}

static unsigned hexadecimal(const char *at) {
  char digits[5] = {0};
  memcpy(digits, at, strnlen(at, 4));
  return (unsigned)strtoul(digits, NULL, 16);
}

static void add_utf8(ha_text *text, unsigned point) {
  char bytes[4];
  size_t length = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
  for (size_t at = length; at-- > 1; point >>= 6) bytes[at] = (char)(0x80 | (point & 0x3F));
  bytes[0] = (char)(lead[length] | point);
  add_bytes(text, bytes, length);
}

static char *unescaped(const char *at) {
  static const char names[] = "bfnrt", values[] = "\b\f\n\r\t";
  ha_text text = {0};
  ha_add(&text, "");
  for (at++; *at && *at != '"'; at++) {
    if (*at != '\\') {
      add_bytes(&text, at, 1);
      continue;
    }
    at++;
    const char *name = *at ? strchr(names, *at) : NULL;
    if (*at == 'u') {
      unsigned point = hexadecimal(at + 1);
      at += strnlen(at, 5) - 1;
      if (point >= 0xD800 && point < 0xDC00 && at[1] == '\\' && at[2] == 'u') {
        point = 0x10000 + ((point - 0xD800) << 10) + (hexadecimal(at + 3) - 0xDC00);
        at += 6;
      }
      add_utf8(&text, point);
    } else if (name) {
      add_bytes(&text, &values[name - names], 1);
    } else if (*at) {
      add_bytes(&text, at, 1);
    } else {
      break;
    }
  }
  return text.bytes;
}

char *ha_json_text(const ha_string *json, const char *key) {
  char *copy = ha_copy(json), *found = NULL;
  const char *at = skip_space(copy);
  while (!found && (*at == '{' || *at == ',')) {
    at = skip_space(at + 1);
    if (*at != '"') break;
    char *name = unescaped(at);
    at = skip_space(skip_string(at));
    if (*at == ':') at = skip_space(at + 1);
    if (strcmp(name, key) == 0 && *at == '"') found = unescaped(at);
    at = skip_space(skip_value(at));
    free(name);
  }
  free(copy);
  return found;
}

// What the plugin offers --------------------------------------------------------------------------------------------

// The next place of a list in the descriptor, zeroed.
#define NEXT(list)                                                                        \
  ((list).ptr = have(realloc((list).ptr, ((list).len + 1) * sizeof *(list).ptr)),         \
   memset(&(list).ptr[(list).len], 0, sizeof *(list).ptr), &(list).ptr[(list).len++])

void ha_begin(ha_descriptor *descriptor, const char *name, const char *version, const char *summary) {
  memset(descriptor, 0, sizeof *descriptor);
  set(&descriptor->name, name);
  set(&descriptor->version, version);
  set(&descriptor->summary, summary);
}

void ha_tool(ha_descriptor *descriptor, const char *name, const char *description, const char *parameters,
             homeagent_plugin_types_effect_t effect) {
  homeagent_plugin_types_tool_definition_t *tool = NEXT(descriptor->tools);
  set(&tool->name, name);
  set(&tool->description, description);
  set(&tool->parameters, parameters);
  tool->effect = effect;
}

void ha_stage(ha_descriptor *descriptor, homeagent_plugin_types_stage_t stage,
              homeagent_plugin_types_handler_mode_t mode) {
  homeagent_plugin_types_stage_registration_t *handler = NEXT(descriptor->stages);
  bool about_calls = stage == HOMEAGENT_PLUGIN_TYPES_STAGE_BEFORE_TOOLCALL ||
                     stage == HOMEAGENT_PLUGIN_TYPES_STAGE_AFTER_TOOLCALL;
  handler->stage = stage;
  handler->mode = mode;
  handler->scope = about_calls ? HOMEAGENT_PLUGIN_TYPES_SCOPE_OWN_TOOLS : HOMEAGENT_PLUGIN_TYPES_SCOPE_GLOBAL;
}

void ha_event_topic(ha_descriptor *descriptor, const char *topic) { set(NEXT(descriptor->events), topic); }

void ha_channel(ha_descriptor *descriptor, const char *name, const char *description) {
  homeagent_plugin_types_channel_definition_t *channel = NEXT(descriptor->channels);
  set(&channel->name, name);
  set(&channel->description, description);
  set(&channel->help, "");
  channel->capabilities = HOMEAGENT_PLUGIN_TYPES_OUTPUT_CAPABILITIES_TEXT;
}

// Answers -----------------------------------------------------------------------------------------------------------

bool ha_answer_json(ha_tool_output *output, ha_text *json) {
  memset(output, 0, sizeof *output);
  ha_give(json, &output->value);
  return true;
}

bool ha_answer_text(ha_tool_output *output, const char *text) {
  ha_text json = {0};
  ha_add_json(&json, text);
  return ha_answer_json(output, &json);
}

bool ha_set_text(ha_patches *patches, ha_text *text) {
  patches->ptr = NULL;
  patches->len = 0;
  exports_homeagent_plugin_stage_handler_patch_t *patch = NEXT(*patches);
  patch->tag = EXPORTS_HOMEAGENT_PLUGIN_STAGE_HANDLER_PATCH_SET_TEXT;
  ha_give(text, &patch->val.set_text);
  return true;
}

bool ha_invalid(ha_error *error, const char *text) {
  error->tag = HOMEAGENT_PLUGIN_TYPES_ERROR_INVALID;
  set(&error->val.invalid, text);
  return false;
}

bool ha_no_tool(ha_error *error, const ha_string *name) {
  char *copy = ha_copy(name);
  ha_text text = {0};
  ha_add(&text, "there is no tool `");
  ha_add(&text, copy);
  ha_add(&text, "` here");
  free(copy);
  error->tag = HOMEAGENT_PLUGIN_TYPES_ERROR_NOT_FOUND;
  ha_give(&text, &error->val.not_found);
  return false;
}

// The host ----------------------------------------------------------------------------------------------------------

char *ha_setting_text(const char *key) {
  ha_string name, value;
  ha_error error;
  plugin_string_set(&name, key);
  if (!homeagent_plugin_settings_get(&name, &value, &error)) {
    homeagent_plugin_types_error_free(&error);
    return NULL;
  }
  char *json = ha_copy(&value);
  char *text = *json == '"' ? unescaped(json) : NULL;
  free(json);
  plugin_string_free(&value);
  return text;
}

bool ha_publish(const char *topic, ha_text *payload, ha_error *error) {
  ha_string name, json;
  plugin_string_set(&name, topic);
  ha_give(payload, &json);
  bool published = homeagent_plugin_bus_publish(&name, &json, error);
  plugin_string_free(&json);
  return published;
}

// The exports that a plugin leaves out ------------------------------------------------------------------------------

__attribute__((weak)) bool ha_start(bool resumed, ha_error *error) {
  (void)resumed, (void)error;
  return true;
}

__attribute__((weak)) bool ha_self_check(ha_error *error) {
  (void)error;
  return true;
}

__attribute__((weak)) void ha_activated(void) {}

__attribute__((weak)) void ha_stop(void) {}

__attribute__((weak)) bool ha_tool_call(ha_string *name, ha_string *args, ha_cause *cause, ha_tool_output *output,
                                        ha_error *error) {
  (void)args, (void)cause, (void)output;
  return ha_no_tool(error, name);
}

__attribute__((weak)) bool ha_stage_run(ha_stage_context *context, ha_patches *patches, ha_error *error) {
  (void)context, (void)error;
  patches->ptr = NULL;
  patches->len = 0;
  return true;
}

__attribute__((weak)) void ha_on_event(ha_event *event) { (void)event; }

__attribute__((weak)) bool ha_deliver(ha_output *output, ha_cause *cause, ha_receipt *receipt, ha_error *error) {
  (void)output, (void)cause, (void)receipt;
  return ha_invalid(error, "this plugin has no channel");
}

__attribute__((weak)) void ha_show(exports_homeagent_plugin_channel_list_delta_t *deltas) { (void)deltas; }
