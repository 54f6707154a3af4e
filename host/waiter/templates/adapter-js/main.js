// This vendor speaks chat completions; change what yours does otherwise.

import { adapter, completions, summary } from "homeagent";

summary("A vendor that nearly speaks chat completions");

adapter({
  base_url: "https://api.example.com/v1",
  key: "bearer",
  features: ["tools", "images", "reasoning"],

  transform_request(request) {
    const http = completions.request(request);
    // Here: http.path, http.headers, and the fields of http.json.
    return http;
  },

  transform_stream_chunk: (event) => completions.chunk(event),
  transform_response: (response) => completions.response(response),
});
