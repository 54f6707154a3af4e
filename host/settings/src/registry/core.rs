//! The settings of the daemon itself.

use super::declaration::{Declaration, duration, integer};
use super::kind::DurationUnit::{Milliseconds, Seconds};
use super::kind::Kind;

const KIB: i64 = 1 << 10;
const MIB: i64 = 1 << 20;
const GIB: i64 = 1 << 30;
const MINUTE_MS: u64 = 60_000;
const DAY: u64 = 24 * 3600;

/// Every `core.*` setting, in no particular order.
#[must_use]
pub fn core_declarations() -> Vec<Declaration> {
    let mut all = agent();
    all.extend(tools());
    all.extend(model());
    all.extend(cost());
    all.extend(discovery());
    all.extend(plugin());
    all.extend(network());
    all.extend(media());
    all.extend(knowledge());
    all.extend(recollection());
    all.extend(distillation());
    all.extend(models());
    all.extend(surfaces());
    all.extend(context());
    all
}

/// What of a conversation stands before the model, and where the rest goes.
fn context() -> Vec<Declaration> {
    vec![
        integer(
            "core.memory.context_events",
            30,
            (10, 10_000),
            "How many events of a conversation stand before the model: what a person said is one, what the agent did and \
             said in answer another; above that, what bears least on what is being said goes to the documents",
        )
        .counted_in("events"),
        integer("core.memory.cold_hours", 72, (1, 87_600), "After how long without being read a document is cold")
            .counted_in("hours"),
        integer("core.memory.cold_reads", 2, (0, 1_000_000), "How often a document may have been read that goes cold")
            .counted_in("reads"),
        Declaration::new(
            "core.memory.text_log",
            Kind::Bool,
            true,
            "Whether what is said is also written as lines of JSON to logs/dialogue, for you and your programs",
        ),
        integer("core.memory.text_log_mib", 16, (1, 10_240), "How large a file of that log becomes before another is begun")
            .counted_in("MiB"),
        integer("core.memory.text_log_days", 90, (1, 36_500), "How long files of that log are kept").counted_in("days"),
    ]
}

fn tools() -> Vec<Declaration> {
    vec![
        Declaration::new(
            "core.tools.policy",
            Kind::rules(&["allow", "ask", "deny"]),
            serde_json::json!([]),
            "Which tools run, wait for the owner's word, or do not run, such as qq_set_group_kick=deny, files_*=ask",
        ),
        duration(
            "core.tools.ask_wait",
            Seconds,
            300,
            (1, DAY),
            "How long the owner is waited for who is asked about a tool",
        ),
    ]
}

fn agent() -> Vec<Declaration> {
    let size = (KIB, GIB);
    vec![
        integer("core.agent.rounds", 10, (1, 1000), "How often a turn may go back to the model after tool calls")
            .counted_in("rounds"),
        Declaration::new(
            "core.agent.time_zone",
            Kind::TimeZone,
            "",
            "The time zone of your days, such as Asia/Shanghai; empty: that of this machine",
        ),
        duration("core.agent.turn_seconds", Seconds, 600, (1, DAY), "How long a turn may take before it is cut"),
        integer("core.agent.parallel_conversations", 4, (1, 256), "How many conversations run a turn at the same time")
            .counted_in("conversations"),
        duration(
            "core.agent.merge_ms",
            Milliseconds,
            1500,
            (0, MINUTE_MS),
            "How long to wait for more quick messages of the same person before answering them together; 0: each by itself",
        ),
        integer("core.agent.input_queue", 1024, (1, 1_000_000), "How many inputs may wait in one channel")
            .counted_in("inputs")
            .restarting("agent"),
        integer(
            "core.agent.identical_calls",
            3,
            (1, 1000),
            "After how many identical tool calls in a row a turn stops",
        )
        .counted_in("calls"),
        integer(
            "core.agent.turn_tokens",
            1_000_000,
            (1000, 1_000_000_000),
            "How much the model calls of one turn may take together, before it is stopped",
        )
        .counted_in("tokens"),
        integer("core.agent.max_reply_bytes", 256 * KIB, size, "The longest text a model may answer with")
            .counted_in("bytes"),
        integer("core.agent.max_reasoning_bytes", MIB, size, "The longest reasoning a model may answer with")
            .counted_in("bytes"),
        integer("core.agent.max_arguments_bytes", 256 * KIB, size, "The longest arguments of one tool call")
            .counted_in("bytes"),
        integer("core.agent.max_tool_result_bytes", 256 * KIB, size, "The longest result of one tool call")
            .counted_in("bytes"),
        integer(
            "core.agent.window_events",
            200,
            (2, 100_000),
            "The most messages of a conversation that the model is shown, calls of tools and their results among them",
        )
        .counted_in("messages"),
        duration(
            "core.agent.stage_timeout_ms",
            Milliseconds,
            5000,
            (1, 10 * MINUTE_MS),
            "How long one handler of a stage may take",
        ),
        duration(
            "core.agent.tool_timeout_ms",
            Milliseconds,
            30_000,
            (1, 60 * MINUTE_MS),
            "How long one tool call may take, where the tool does not say",
        ),
        duration(
            "core.agent.drain_ms",
            Milliseconds,
            5000,
            (0, 10 * MINUTE_MS),
            "How long running turns may go on when the agent is told to stop",
        ),
    ]
}

fn model() -> Vec<Declaration> {
    let hour = 3600;
    vec![
        Declaration::new(
            "core.model.temperature",
            Kind::Number { min: 0.0, max: 2.0 },
            0.7,
            "How freely the model chooses its words; 0 is the strictest",
        ),
        integer("core.model.max_tokens", 4096, (1, 1_000_000), "The longest answer asked of a model")
            .counted_in("tokens"),
        integer(
            "core.model.context_tokens",
            32_768,
            (2048, 100_000_000),
            "How much a model can be shown at once, its answer included, where neither its source says so nor its name tells",
        )
        .counted_in("tokens"),
        duration("core.model.connect_seconds", Seconds, 10, (1, hour), "How long connecting to a source may take"),
        duration(
            "core.model.first_byte_seconds",
            Seconds,
            60,
            (1, hour),
            "How long a source may take to begin an answer",
        ),
        duration(
            "core.model.silence_seconds",
            Seconds,
            30,
            (1, hour),
            "How long a source may be silent inside an answer",
        ),
        duration(
            "core.model.waiting_seconds",
            Seconds,
            300,
            (1, hour),
            "How long a source may say that it is alive, and nothing of the answer",
        ),
        duration(
            "core.model.wait_seconds",
            Seconds,
            30,
            (0, hour),
            "How long to wait for a source to come back, when none is ready, before a turn fails",
        ),
        Declaration::new(
            "core.model.on_content_filter",
            Kind::choice(&["next", "stop"]),
            "next",
            "What follows when a vendor's filter refuses to answer: the next source is asked, or the turn ends and says so",
        ),
    ]
}

fn cost() -> Vec<Declaration> {
    let limit = |key, default, description| Declaration::new(key, Kind::Amounts, default, description);
    vec![
        limit(
            "core.cost.day",
            serde_json::json!(["5 USD", "5 EUR", "35 CNY"]),
            "What models may cost in a day, in money and in tokens: each currency by itself; empty: as much as it takes",
        ),
        limit("core.cost.month", serde_json::json!([]), "What models may cost in a month, as core.cost.day"),
        limit(
            "core.cost.members_day",
            serde_json::json!([]),
            "What the members together may cost in a day, as core.cost.day and within it",
        ),
        limit(
            "core.cost.guests_day",
            serde_json::json!(["1 USD", "1 EUR", "7 CNY"]),
            "What the guests, and plugins that ask by themselves, together may cost in a day, as core.cost.day and within it",
        ),
        integer(
            "core.cost.call_days",
            90,
            (2, 3650),
            "For how many days single calls of models are kept, not sums alone",
        )
        .counted_in("days"),
    ]
}

fn discovery() -> Vec<Declaration> {
    vec![
        Declaration::new(
            "core.discovery.enabled",
            Kind::Bool,
            true,
            "Whether sources are looked for in the environment and on this machine",
        ),
        Declaration::new(
            "core.discovery.adopt",
            Kind::Bool,
            true,
            "Whether a home without a source takes the only one that is found, and a chat asks which of several",
        ),
        Declaration::new(
            "core.discovery.ollama_url",
            Kind::Text,
            "http://127.0.0.1:11434",
            "Where an Ollama is looked for; while it is not set, OLLAMA_HOST comes first",
        ),
        Declaration::new(
            "core.discovery.llamacpp_url",
            Kind::Text,
            "http://127.0.0.1:8080",
            "Where a llama.cpp server is looked for; while it is not set, LLAMA_ARG_HOST and LLAMA_ARG_PORT come first",
        ),
    ]
}

fn plugin() -> Vec<Declaration> {
    vec![
        Declaration::new(
            "core.plugin.watch",
            Kind::Bool,
            true,
            "Whether packages whose files change are loaded by themselves",
        ),
        integer("core.plugin.memory_mib", 64, (2, 1024), "How much memory an instance of a plugin may have")
            .counted_in("MiB")
            .restarting("plugins"),
        duration(
            "core.plugin.cpu_ms",
            Milliseconds,
            2_000,
            (10, 10 * MINUTE_MS),
            "How much processor time a plugin may use in one go, where it asks for none itself",
        )
        .restarting("plugins"),
        duration(
            "core.plugin.cpu_most_ms",
            Milliseconds,
            30_000,
            (10, 60 * MINUTE_MS),
            "The most processor time in one go that a plugin can ask for",
        )
        .restarting("plugins"),
        integer("core.plugin.cpu_percent", 20, (0, 100), "How much of one processor a plugin has at its own disposal")
            .counted_in("percent")
            .restarting("plugins"),
        integer("core.plugin.output_bytes", MIB, (KIB, GIB), "The largest answer of a plugin to one call")
            .counted_in("bytes"),
        duration(
            "core.plugin.start_timeout_ms",
            Milliseconds,
            10_000,
            (1, 10 * MINUTE_MS),
            "How long a plugin may take to start, and again to become active",
        ),
        duration(
            "core.plugin.state_timeout_ms",
            Milliseconds,
            5_000,
            (1, 10 * MINUTE_MS),
            "How long a plugin that is replaced may take to save its state, and its successor to load it",
        ),
        integer("core.plugin.state_mib", 64, (1, 1024), "The largest state that a plugin hands on when it is replaced")
            .counted_in("MiB"),
        duration(
            "core.plugin.call_timeout_ms",
            Milliseconds,
            30_000,
            (1, 60 * MINUTE_MS),
            "How long a call of a plugin may take, where nothing else is said",
        ),
        duration(
            "core.plugin.full_queue_ms",
            Milliseconds,
            30_000,
            (1, 60 * MINUTE_MS),
            "How long a connection may have more for a plugin than it takes in before it is closed",
        ),
        duration(
            "core.plugin.grace_ms",
            Milliseconds,
            2000,
            (0, 10 * MINUTE_MS),
            "How long a call may go on after its deadline before its instance is ended",
        ),
        integer("core.plugin.restarts", 5, (0, 1000), "How many restarts a failing plugin gets before it is given up")
            .counted_in("restarts"),
        duration(
            "core.plugin.restart_window_seconds",
            Seconds,
            600,
            (1, DAY),
            "The time in which a plugin's restarts are counted",
        ),
        integer("core.plugin.log_lines_per_second", 200, (1, 100_000), "How many lines a plugin may log in a second")
            .counted_in("lines")
            .restarting("agent"),
        integer(
            "core.plugin.stateless_calls",
            4,
            (1, 64),
            "How many calls of tools that need no state a plugin runs at one time, each on an instance of its own",
        )
        .counted_in("calls")
        .restarting("agent"),
        integer("core.plugin.kv_mib", 16, (1, 1024), "How much a plugin may keep under keys of its own")
            .counted_in("MiB"),
        integer("core.plugin.data_mib", 64, (0, 1 << 20), "How much a plugin may have in the folder of its own")
            .counted_in("MiB"),
        integer("core.plugin.file_mib", 1024, (1, 1 << 20), "How large a file may become to which a plugin appends")
            .counted_in("MiB"),
        integer("core.plugin.disk_reserve_mib", 256, (0, 1 << 20), "How much plugins leave free on every disk")
            .counted_in("MiB"),
        integer("core.plugin.timers", 64, (0, 10_000), "How many timers a plugin may have that asks for no number")
            .counted_in("timers"),
        integer("core.plugin.processes", 4, (1, 64), "How many programs of a plugin may run at one time")
            .counted_in("programs"),
        duration("core.plugin.process_seconds", Seconds, 60, (1, DAY), "How long a program of a plugin may run"),
        integer(
            "core.plugin.process_memory_mib",
            4096,
            (16, 1 << 20),
            "How much memory a program of a plugin may address",
        )
        .counted_in("MiB"),
        integer("core.plugin.queue", 256, (1, 1_000_000), "How many calls may wait for a plugin")
            .counted_in("calls")
            .restarting("agent"),
    ]
}

fn network() -> Vec<Declaration> {
    vec![
        duration(
            "core.network.timeout_ms",
            Milliseconds,
            30_000,
            (1, 10 * MINUTE_MS),
            "How long a plugin's request may take, with all redirects",
        ),
        integer("core.network.request_bytes", MIB, (KIB, GIB / 128), "The largest body of a plugin's request")
            .counted_in("bytes"),
        integer(
            "core.network.response_bytes",
            8 * MIB,
            (KIB, GIB / 16),
            "The largest answer to a plugin's request, as it comes and decoded",
        )
        .counted_in("bytes"),
        integer("core.network.requests", 8, (1, 256), "How many requests a plugin may have under way")
            .counted_in("requests"),
        integer("core.network.connections", 8, (1, 256), "How many connections to others a plugin may hold")
            .counted_in("connections"),
    ]
}

fn recollection() -> Vec<Declaration> {
    vec![
        Declaration::new(
            "core.memory.recall",
            Kind::Bool,
            true,
            "Whether what was said earlier is looked up before the model is asked, and shown to it",
        ),
        integer(
            "core.memory.recall_passages",
            8,
            (0, 100),
            "How much of what was said earlier a model is shown at most",
        )
        .counted_in("passages"),
        integer(
            "core.memory.recall_characters",
            4000,
            (200, 1_000_000),
            "How long what is shown of the memory may be, all of it together",
        )
        .counted_in("characters"),
        duration(
            "core.memory.recall_ms",
            Milliseconds,
            150,
            (1, MINUTE_MS),
            "How long an answer waits for the memory; what is not found by then is left out",
        ),
        integer(
            "core.memory.own_tokens",
            200_000,
            (0, 1_000_000_000),
            "How many tokens a day the memory may use to ask a model what belongs together; 0: it never asks",
        )
        .counted_in("tokens"),
        Declaration::new(
            "core.tools.always",
            Kind::List,
            serde_json::json!([]),
            "Tools that a model is always shown, by their names",
        ),
        integer(
            "core.tools.shown",
            24,
            (4, 10_000),
            "Above how many tools a model is shown only those that may matter; it can call the others all the same",
        )
        .counted_in("tools"),
    ]
}

fn media() -> Vec<Declaration> {
    vec![
        integer("core.media.file_mib", 20, (1, 1024), "The largest picture, sound, film or file that is kept")
            .counted_in("MiB"),
        integer(
            "core.media.total_mib",
            1024,
            (1, 1 << 20),
            "How much is kept of them together; what was used longest ago makes room",
        )
        .counted_in("MiB"),
        integer("core.media.keep_days", 30, (1, 36_500), "How long one is kept that nobody uses").counted_in("days"),
        duration(
            "core.media.fetch_seconds",
            Seconds,
            20,
            (1, 600),
            "How long fetching one from the address that came with a message may take",
        ),
        integer(
            "core.media.show_turns",
            1,
            (1, 100),
            "In how many turns a model is shown what came with a message, that of the message among them",
        )
        .counted_in("turns"),
        integer("core.media.link_hours", 24, (1, 8_760), "How long a link to one is good").counted_in("hours"),
        Declaration::new(
            "core.media.public_url",
            Kind::Url,
            "",
            "Where others reach this daemon, such as https://home.example; without it, links go to this machine's own \
             programs alone",
        ),
    ]
}

fn knowledge() -> Vec<Declaration> {
    vec![
        integer("core.knowledge.file_mib", 16, (1, 256), "How large the text of a knowledge base may be")
            .counted_in("MiB"),
        Declaration::new(
            "core.knowledge.in_groups",
            Kind::choice(&["everyone", "members"]),
            "everyone",
            "Which knowledge bases are used in groups: those for everyone, or those for members of the house too",
        ),
    ]
}

/// The memory's own loops.
fn distillation() -> Vec<Declaration> {
    vec![
        integer(
            "core.memory.archive_minutes",
            2,
            (0, 10_080),
            "How often new messages are read for facts about people; 0: never",
        )
        .counted_in("minutes"),
        integer(
            "core.memory.archive_messages",
            500,
            (1, 100_000),
            "How many messages and documents are read at a time",
        )
        .counted_in("messages"),
        integer(
            "core.memory.merge_minutes",
            60,
            (0, 10_080),
            "How often a model is asked which names mean the same; 0: never",
        )
        .counted_in("minutes"),
        integer("core.memory.merge_pairs", 20, (0, 200), "About how many pairs of names a model is asked at a time")
            .counted_in("pairs"),
        integer(
            "core.memory.review_minutes",
            240,
            (0, 10_080),
            "How often a model looks once more at what the memory is not sure of; 0: never",
        )
        .counted_in("minutes"),
        integer("core.memory.review_relations", 20, (0, 200), "About how many statements a model is asked at a time")
            .counted_in("statements"),
        integer(
            "core.memory.review_days",
            7,
            (0, 3650),
            "How old something unsure must be before a model looks at it once more",
        )
        .counted_in("days"),
    ]
}

fn surfaces() -> Vec<Declaration> {
    vec![
        Declaration::new("core.gateway.listen", Kind::Address, "127.0.0.1:8686", "Where the API listens")
            .restarting("daemon"),
        integer(
            "core.gateway.connections",
            256,
            (8, 4096),
            "How many connections are held at once over TCP, and as many over the socket",
        )
        .counted_in("connections"),
        integer(
            "core.gateway.streams",
            128,
            (1, 4096),
            "How many streams, chats and connections to plugins may be open at once over TCP, and as many over the socket",
        )
        .counted_in("streams"),
        integer("core.gateway.body_bytes", MIB, (KIB, GIB), "The largest request body the API reads")
            .counted_in("bytes"),
        Declaration::new(
            "core.log.level",
            Kind::choice(&["off", "error", "warn", "info", "debug", "trace"]),
            "info",
            "How much is logged",
        ),
        integer("core.log.days", 14, (1, 3650), "For how many days log files are kept").counted_in("days"),
        integer("core.log.file_mib", 64, (1, 4096), "How large a log file may become before the next one begins")
            .counted_in("MiB"),
        integer("core.log.total_mib", 512, (1, 1 << 20), "How much all log files may take together").counted_in("MiB"),
        Declaration::new(
            "core.otel.endpoint",
            Kind::Url,
            "",
            "Where an OpenTelemetry collector takes spans over HTTP, such as http://127.0.0.1:4318; empty sends none",
        ),
        Declaration::new(
            "core.otel.service_name",
            Kind::Text,
            "homeagent",
            "What the daemon is called where its spans are shown",
        ),
    ]
}

fn models() -> Vec<Declaration> {
    vec![
        Declaration::new(
            "core.models.embedder",
            Kind::Text,
            "",
            "What makes vectors of texts: a model in the folder models, source or tf-idf; empty: the best there is",
        ),
        Declaration::new(
            "core.models.onnx_runtime",
            Kind::Text,
            "",
            "The file of ONNX Runtime, which runs sentence models, or its folder; empty: it is looked for",
        ),
        integer(
            "core.models.sessions",
            1,
            (1, 16),
            "How many texts a sentence model embeds at one time, each by a processor",
        )
        .counted_in("texts"),
    ]
}
