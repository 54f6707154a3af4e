-- This vendor speaks chat completions; change what yours does otherwise.

local homeagent = require("homeagent")
local completions = homeagent.completions

homeagent.summary = "A vendor that nearly speaks chat completions"

homeagent.adapter {
  base_url = "https://api.example.com/v1",
  key = "bearer",
  features = { "tools", "images", "reasoning" },

  transform_request = function(request)
    local http = completions.request(request)
    -- Here: http.path, http.headers, and the fields of http.json.
    return http
  end,

  transform_stream_chunk = function(event) return completions.chunk(event) end,
  transform_response = function(response) return completions.response(response) end,
}
