//! The commands: what each asks the daemon for, and how its answer is shown.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use homeagent_package::SigningKey;
use hyper::Method;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::args::{
    Adapter, Agent, Args, Channel, Command, Cost, Key, Knowledge, Language, Media, Memory, Models, NamedTimer,
    NewSource, Owner, Plugin, Price, Questions, Runs, Settings, Source, Timers, Tools, WantedCosts,
};
use crate::client::{Client, part, read};
use crate::failure::Failure;
use crate::plain::{plain, plain_json};
use crate::templates::Project;
use crate::{chat, complain, file, media, pack, price, print, show, signing, stdin, templates};

pub(crate) const FAILED: u8 = 1;

/// The largest recorded answer that the daemon takes, in bytes.
const LARGEST_RECORDING: u64 = 64 << 20;

/// Where the answers go.
pub(crate) struct Desk {
    pub(crate) client: Client,
    pub(crate) json: bool,
}

pub(crate) async fn run(args: Args) -> Result<u8, Failure> {
    let home = home(args.home)?;
    let Some(command) = args.command else {
        return chat::run(&home, args.conversation, args.json).await;
    };
    let desk = Desk { client: Client::new(&home), json: args.json };
    let outer = args.conversation;
    if outer.is_some() && !matches!(command, Command::Send { .. }) {
        let sentence = "--conversation goes with a chat and with `send`; this command belongs to no conversation";
        return Err(Failure::Usage(sentence.to_owned()));
    }
    match command {
        Command::Send { text, conversation, attach } => desk.send(text, conversation.or(outer), &attach).await,
        Command::Stop { run } => desk.stop(run).await,
        Command::Status => {
            let answer = desk.client.get("status").await?;
            desk.answer(&answer, |answer| show::status::show(answer, &TimeZone::system()))
        }
        Command::Cost { command: Some(Cost::Price { command }), .. } => {
            desk.price(command.unwrap_or(Price::List { all: false })).await
        }
        Command::Cost { wanted, command: None } => desk.cost(&wanted).await,
        Command::Agent { command } => desk.agent(&command).await,
        Command::Tools { command } => desk.tools(command.unwrap_or(Tools::List)).await,
        Command::Memory { command } => desk.memory(command.unwrap_or(Memory::Status)).await,
        Command::Timers { command } => desk.timers(command.unwrap_or(Timers::List { limit: 100, after: None })).await,
        Command::Plugin { command } => desk.plugin(command.unwrap_or(Plugin::List)).await,
        Command::Models { command } => desk.models(command.unwrap_or(Models::List)).await,
        Command::Source { command } => desk.source(command.unwrap_or(Source::List)).await,
        Command::Adapter { command: Adapter::Try { adapter, file, chunk } } => {
            desk.try_adapter(&adapter, file, chunk).await
        }
        Command::Channel { command: Channel::Try { channel, file } } => desk.try_channel(&channel, &file).await,
        Command::Settings { command } => desk.settings(command.unwrap_or(Settings::List { prefix: None })).await,
        Command::Media { command } => desk.media(command.unwrap_or(Media::List)).await,
        Command::Knowledge { command } => desk.knowledge(command.unwrap_or(Knowledge::List)).await,
        Command::Questions { command } => desk.questions(command.unwrap_or(Questions::List)).await,
        Command::Owner { command } => desk.owner(command.unwrap_or(Owner::List)).await,
        Command::Runs { command } => {
            let usual = Runs::List { limit: 20, before: None };
            desk.runs(command.unwrap_or(usual)).await
        }
    }
}

fn home(given: Option<PathBuf>) -> Result<PathBuf, Failure> {
    given.or_else(homeagent_home::default_home).ok_or_else(|| {
        Failure::Usage("no data folder is known: give --home DIR, or set HOMEAGENT_HOME or HOME".to_owned())
    })
}

#[derive(Deserialize)]
struct TurnResult {
    run: String,
    reply: String,
    finish: String,
    error: Option<TurnError>,
}

#[derive(Deserialize)]
struct TurnError {
    text: String,
}

impl Desk {
    /// Shows an answer, as it came or for people.
    pub(crate) fn answer(
        &self,
        answer: &str,
        show: impl FnOnce(&str) -> Result<String, Failure>,
    ) -> Result<u8, Failure> {
        if self.json {
            print(&plain_json(answer))?;
        } else {
            print(&show(answer)?)?;
        }
        Ok(0)
    }

    async fn send(&self, text: Vec<String>, conversation: Option<String>, files: &[PathBuf]) -> Result<u8, Failure> {
        let text = match text.as_slice() {
            [one] if one == "-" => stdin::text(&self.client).await?,
            words => words.join(" "),
        };
        let media = media::attach(&self.client, files).await?;
        let body = json!({ "text": text.trim_end(), "conversation": conversation, "media": media });
        let answer = self.client.post("chat", body.to_string()).await?;
        let result: TurnResult = read(&answer)?;
        if self.json {
            print(&plain_json(&answer))?;
        } else if !result.reply.trim().is_empty() {
            print(&plain(&result.reply))?;
        }
        match result.error {
            Some(error) => {
                complain(&plain(&format!("the turn {} failed: {}", result.run, error.text)));
                Ok(FAILED)
            }
            None if result.reply.trim().is_empty() => {
                complain(&plain(&format!("the turn {} ended without a text: {}", result.run, result.finish)));
                Ok(0)
            }
            None => Ok(0),
        }
    }

    async fn stop(&self, run: Option<String>) -> Result<u8, Failure> {
        let body = run.map_or_else(String::new, |run| json!({ "run": run }).to_string());
        let answer = self.client.post("stop", body).await?;
        self.answer(&answer, |answer| {
            #[derive(Deserialize)]
            struct Stopped {
                stopped: Vec<String>,
            }
            let Stopped { stopped } = read(answer)?;
            Ok(match stopped.as_slice() {
                [] => "nothing was running\n".to_owned(),
                runs => format!("stopped {}\n", plain(&runs.join(", "))),
            })
        })
    }

    async fn agent(&self, command: &Agent) -> Result<u8, Failure> {
        let path = match command {
            Agent::Stop => "agent/stop",
            Agent::Start => "agent/start",
        };
        let answer = self.client.post(path, "").await?;
        self.answer(&answer, show::status::agent_state)
    }

    async fn tools(&self, command: Tools) -> Result<u8, Failure> {
        match command {
            Tools::List => {
                let answer = self.client.get("tools").await?;
                self.answer(&answer, show::tools::list)
            }
            Tools::Call { name, arguments } => {
                let arguments = if arguments == "-" { stdin::text(&self.client).await? } else { arguments };
                let path = format!("tools/{}", part(&name));
                let answer = self.client.post(&path, arguments).await?;
                let (text, failed) = show::tools::output(&answer)?;
                self.answer(&answer, |_| Ok(text))?;
                Ok(if failed { FAILED } else { 0 })
            }
        }
    }

    async fn memory(&self, command: Memory) -> Result<u8, Failure> {
        match command {
            Memory::Status => {
                let answer = self.client.get("memory").await?;
                self.answer(&answer, show::memory::state)
            }
            Memory::Search { text, limit, all } => {
                let path = format!("memory/search?text={}&limit={limit}&all={all}", part(&text.join(" ")));
                let answer = self.client.get(&path).await?;
                self.answer(&answer, |answer| show::memory::found(answer, &TimeZone::system()))
            }
            Memory::Show { id, around, all } => {
                let (kind, place) = id.split_once('/').unwrap_or(("said", &id));
                let path = format!("memory/passages/{}/{}?around={around}&all={all}", part(kind), part(place));
                let answer = self.client.get(&path).await?;
                self.answer(&answer, |answer| show::memory::place(answer, &TimeZone::system()))
            }
            Memory::Graph { name, all } => {
                let name = name.map_or_else(String::new, |name| format!("&name={}", part(&name)));
                let answer = self.client.get(&format!("memory/graph?all={all}{name}")).await?;
                self.answer(&answer, |answer| show::memory::graph(answer, &TimeZone::system()))
            }
            Memory::Explain { run, all } => {
                let answer = self.client.get(&format!("memory/runs/{}?all={all}", part(&run))).await?;
                self.answer(&answer, |answer| show::memory::explained(answer, &TimeZone::system()))
            }
            Memory::Forget(forget) => {
                let wish = forget.wish(&TimeZone::system())?;
                let answer = self.client.post("memory/forget", wish).await?;
                self.answer(&answer, show::memory::forgotten)
            }
            Memory::Reindex => {
                let answer = self.client.post("memory/reindex", hyper::body::Bytes::new()).await?;
                self.answer(&answer, show::memory::state)
            }
            Memory::Export { file, replace } => {
                let body = json!({ "path": whole(&file)?, "replace": replace }).to_string();
                let answer = self.client.post("memory/export", body).await?;
                self.answer(&answer, show::memory::exported)
            }
            Memory::Import { file } => {
                let body = json!({ "path": whole(&file)? }).to_string();
                let answer = self.client.post("memory/import", body).await?;
                self.answer(&answer, show::memory::imported)
            }
        }
    }

    async fn timers(&self, command: Timers) -> Result<u8, Failure> {
        let path = |timer: &NamedTimer, action: &str| {
            let of = timer.of.as_deref().map_or_else(String::new, |of| format!("?of={}", part(of)));
            format!("timers/{}{action}{of}", part(&timer.name))
        };
        match command {
            Timers::List { limit, after } => {
                let after = after.map_or_else(String::new, |after| format!("&after={}", part(&after)));
                let answer = self.client.get(&format!("timers?limit={limit}{after}")).await?;
                self.answer(&answer, show::timers::list)
            }
            Timers::Cancel(timer) => {
                let answer = self.client.raw(Method::DELETE, &path(&timer, ""), "").await?;
                self.answer(&answer, show::timers::cancelled)
            }
            Timers::Pause(timer) => {
                let answer = self.client.post(&path(&timer, "/pause"), "").await?;
                self.answer(&answer, show::timers::one)
            }
            Timers::Resume(timer) => {
                let answer = self.client.post(&path(&timer, "/resume"), "").await?;
                self.answer(&answer, show::timers::one)
            }
        }
    }

    async fn plugin(&self, command: Plugin) -> Result<u8, Failure> {
        let path = match command {
            Plugin::List => {
                let answer = self.client.get("plugins").await?;
                let folders = if self.json { None } else { Some(self.client.get("plugin-folders").await?) };
                return self.answer(&answer, |answer| show::plugins::list(answer, folders.as_deref()));
            }
            Plugin::Folders => {
                let answer = self.client.get("plugin-folders").await?;
                return self.answer(&answer, show::plugins::folders);
            }
            Plugin::Install { package } => {
                // The daemon works in a folder of its own.
                let package = std::fs::canonicalize(&package)
                    .map_err(|error| Failure::Failed(format!("{} can't be read: {error}", package.display())))?;
                let Some(path) = package.to_str() else {
                    return Err(Failure::Failed(format!("{} has a name that is not UTF-8", package.display())));
                };
                let what = if package.is_dir() { "folder" } else { "archive" };
                let answer = self.client.post("plugins", json!({ what: path }).to_string()).await?;
                return self.answer(&answer, show::plugins::one);
            }
            Plugin::Remove { name } => {
                let path = format!("plugins/{}", part(&name));
                let answer = self.client.raw(Method::DELETE, &path, "").await?;
                return self.answer(&answer, show::plugins::removed);
            }
            Plugin::Reload { name, wait, force } => {
                let wait = wait.map_or_else(String::new, |seconds| format!("&wait={seconds}"));
                format!("{}/reload?force={force}{wait}", part(&name))
            }
            Plugin::New { name, lang, adapter, source } => {
                let project = if adapter { Project::Adapter } else { Project::Plugin };
                return self.new_plugin(&name, project, lang, source.as_deref());
            }
            Plugin::Pack { folder, output, sign, key } => {
                let key = if sign { Some(signing::load(&signing::file(key)?)?) } else { None };
                return self.pack_plugin(&folder, output, key.as_ref());
            }
            Plugin::Key { command } => return self.key_of_author(command),
            Plugin::Load { name } => format!("{}/load", part(&name)),
            Plugin::Unload { name } => format!("{}/unload", part(&name)),
            Plugin::Grant { name, capability: Some(capability), .. } => {
                format!("{}/grant/{}", part(&name), part(&capability))
            }
            Plugin::Grant { name, capability: None, .. } => return self.grant_all(&name).await,
            Plugin::Revoke { name, capability } => {
                format!("{}/revoke/{}", part(&name), part(&capability))
            }
        };
        let answer = self.client.post(&format!("plugins/{path}"), "").await?;
        self.answer(&answer, show::plugins::one)
    }

    /// Needs no daemon.
    fn new_plugin(
        &self,
        name: &str,
        project: Project,
        language: Language,
        source: Option<&Path>,
    ) -> Result<u8, Failure> {
        let folder = templates::create(Path::new("."), name, project, language, source)?;
        let said = json!({ "folder": folder, "build": language.command() });
        self.answer(&said.to_string(), |_| {
            let build = language.command().map_or_else(String::new, |command| format!("; build it there: {command}"));
            Ok(format!("{name} is {} in the folder {name}{build}\n", project.words()))
        })
    }

    /// Needs no daemon.
    fn pack_plugin(&self, folder: &Path, output: Option<PathBuf>, key: Option<&SigningKey>) -> Result<u8, Failure> {
        let packed = pack::pack(folder, output, key)?;
        let publisher = key.map(|key| key.public().fingerprint());
        let said = json!({ "file": packed.file, "files": packed.names, "publisher": publisher });
        self.answer(&said.to_string(), |_| {
            let signed = publisher.map_or_else(|| "unsigned".to_owned(), |publisher| format!("signed by {publisher}"));
            Ok(format!("{} holds {}; {signed}\n", packed.file.display(), plain(&packed.names.join(", "))))
        })
    }

    async fn models(&self, command: Models) -> Result<u8, Failure> {
        match command {
            Models::List => {
                let answer = self.client.get("models").await?;
                self.answer(&answer, show::embedders::list)
            }
            Models::Install { from } => {
                // The daemon works in another folder.
                let from = std::fs::canonicalize(&from).unwrap_or(from);
                let from = from.to_str().ok_or_else(|| {
                    Failure::Usage(format!(
                        "the path {} is no text; rename the folder",
                        plain(&from.display().to_string())
                    ))
                })?;
                let answer = self.client.post("models", json!({ "from": from }).to_string()).await?;
                self.answer(&answer, show::embedders::installed)
            }
            Models::Use { name } => {
                let body = json!({ "name": name }).to_string();
                let answer = self.client.raw(Method::PUT, "models/used", body).await?;
                self.answer(&answer, |answer| show::embedders::chosen(answer, name.as_deref()))
            }
            Models::Test { text, other } => {
                let body = json!({ "text": text, "other": other }).to_string();
                let answer = self.client.post("models/test", body).await?;
                self.answer(&answer, show::embedders::tested)
            }
        }
    }

    async fn source(&self, command: Source) -> Result<u8, Failure> {
        let path = |name: &str| format!("sources/{}", part(name));
        match command {
            Source::List => {
                let answer = self.client.get("sources").await?;
                let none = !self.json && show::sources::is_empty(&answer)?;
                // That nothing can be looked for is no failure of the list.
                let found = if none { self.client.get("sources/offers").await.ok() } else { None };
                self.answer(&answer, |answer| {
                    let hint = found.as_deref().map(show::offers::hint).transpose()?;
                    Ok(show::sources::list(answer, &TimeZone::system())? + &hint.unwrap_or_default())
                })
            }
            Source::Offers => {
                let answer = self.client.get("sources/offers").await?;
                self.answer(&answer, show::offers::list)
            }
            Source::Accept { name, model } => {
                let body = json!({ "model": model }).to_string();
                let path = format!("sources/offers/{}/accept", part(&name));
                let answer = self.client.post(&path, body).await?;
                self.answer(&answer, |answer| show::sources::one(answer, "is added"))
            }
            Source::Add(new) => {
                let key = self.key(&new).await?;
                let body = new_source(&new, key.as_deref()).to_string();
                let answer = self.client.raw(Method::PUT, &path(&new.name), body).await?;
                self.answer(&answer, |answer| show::sources::one(answer, "is added"))
            }
            Source::Remove { name } => {
                let answer = self.client.raw(Method::DELETE, &path(&name), "").await?;
                self.answer(&answer, show::sources::removed)
            }
            Source::Use { name } => {
                let path = format!("{}/use", path(&name));
                let answer = self.client.post(&path, "").await?;
                self.answer(&answer, |answer| show::sources::one(answer, "is tried first"))
            }
            Source::Models { name } => {
                let answer = self.client.get(&format!("{}/models", path(&name))).await?;
                self.answer(&answer, |answer| show::models::list(answer, &name))
            }
            Source::Set { name, changes } => {
                let body = source_change(&changes)?.to_string();
                let answer = self.client.raw(Method::PATCH, &path(&name), body).await?;
                self.answer(&answer, |answer| show::sources::one(answer, "is changed"))
            }
            Source::Test { name } => {
                let path = format!("{}/test", path(&name));
                let answer = self.client.post(&path, "").await?;
                let (text, ok) = show::sources::tested(&answer)?;
                self.answer(&answer, |_| Ok(text))?;
                Ok(if ok { 0 } else { FAILED })
            }
        }
    }

    async fn try_adapter(&self, adapter: &str, file: PathBuf, chunk: Option<u32>) -> Result<u8, Failure> {
        let recorded = file::bytes(&file, LARGEST_RECORDING)?;
        let query = chunk.map_or_else(String::new, |chunk| format!("?chunk={chunk}"));
        let path = format!("adapters/{}/try{query}", part(adapter));
        let answer = self.client.post_as("application/octet-stream", &path, recorded).await?;
        // The message is JSON for people too.
        print(&plain_json(&answer))?;
        Ok(0)
    }

    /// The answer is JSON for people too: one input where the file holds the frames of one, else a list.
    async fn try_channel(&self, channel: &str, file: &Path) -> Result<u8, Failure> {
        let text = file::text(file, self.client.largest_body().await?)?;
        let document: Value = serde_json::from_str(&text)
            .map_err(|error| Failure::Failed(format!("{} is not JSON: {error}", file.display())))?;
        let path = if channel.contains('/') || channel == "." {
            let folder = std::fs::canonicalize(channel)
                .map_err(|error| Failure::Failed(format!("{channel} can't be read: {error}")))?;
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            format!("channels/{}/try?folder={}", part(&name), part(&folder.to_string_lossy()))
        } else {
            format!("channels/{}/try", part(channel))
        };
        let answer = self.client.post(&path, text).await?;
        let outcomes: Vec<Value> = read(&answer)?;
        let is_list = document.as_array().is_some_and(|all| all.iter().any(|case| case.get("frame").is_some()));
        if let ([outcome], false) = (outcomes.as_slice(), is_list) {
            if let Some(error) = outcome["error"].as_str() {
                return Err(Failure::Failed(error.to_owned()));
            }
            print(&plain_json(&outcome["got"].to_string()))?;
        } else {
            print(&plain_json(&answer))?;
        }
        let mut code = 0;
        for outcome in outcomes.iter().filter(|outcome| outcome["ok"] == false || outcome["error"].is_string()) {
            code = FAILED;
            let parts = outcome["differs"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let parts = parts.collect::<Vec<_>>().join(", ");
            let why = outcome["error"].as_str().map_or_else(|| format!("not as wanted: {parts}"), str::to_owned);
            let name = outcome["name"].as_str().unwrap_or("the case");
            complain(&plain(&format!("{name}: {why}")));
        }
        Ok(code)
    }

    async fn settings(&self, command: Settings) -> Result<u8, Failure> {
        let path = |key: &str| format!("settings/{}", part(key));
        match command {
            Settings::List { prefix } => {
                let answer = self.client.get("settings").await?;
                let prefix = prefix.unwrap_or_default();
                let answer = show::settings::beginning(&answer, &prefix)?;
                self.answer(&answer, |answer| show::settings::list(answer, &prefix))
            }
            Settings::Get { key } => {
                let answer = self.client.get(&path(&key)).await?;
                self.answer(&answer, show::settings::value)
            }
            Settings::Set { key, value } => {
                let value = if value == "-" { stdin::line(&self.client).await? } else { value };
                let body = json!({ "value": value }).to_string();
                let answer = self.client.raw(Method::PUT, &path(&key), body).await?;
                self.answer(&answer, show::settings::changed)
            }
            Settings::Unset { key } => {
                let answer = self.client.raw(Method::DELETE, &path(&key), "").await?;
                self.answer(&answer, show::settings::changed)
            }
            Settings::Export { file, all } => self.export_settings(file, all).await,
            Settings::Import { file, dry_run } => {
                let document = if file.as_os_str() == "-" {
                    stdin::text(&self.client).await?
                } else {
                    file::text(&file, self.client.largest_body().await?)?
                };
                let path = format!("settings/import?dry_run={dry_run}");
                let answer = self.client.post_as("application/toml", &path, document).await?;
                self.answer(&answer, |answer| show::settings::imported(answer, dry_run))
            }
        }
    }

    /// The key with which packages are signed.
    fn key_of_author(&self, command: Key) -> Result<u8, Failure> {
        let (file, key) = match command {
            Key::New { key } => {
                let file = signing::file(key)?;
                let key = signing::create(&file)?;
                (file, key)
            }
            Key::Show { key } => {
                let file = signing::file(key)?;
                let key = signing::load(&file)?;
                (file, key)
            }
        };
        let (key, fingerprint) = (key.public().to_string(), key.public().fingerprint());
        let said = json!({ "file": file, "key": key, "fingerprint": fingerprint });
        self.answer(&said.to_string(), |_| {
            let file = plain(&file.display().to_string());
            Ok(format!(
                "fingerprint: {fingerprint}\npublic key: {key}\nkept in {file}; whoever has this file signs as you\n"
            ))
        })
    }

    /// Gives a plugin everything that it asks for, one after the other.
    async fn grant_all(&self, name: &str) -> Result<u8, Failure> {
        let plugins = self.client.get("plugins").await?;
        let all: Vec<Value> = read(&plugins)?;
        let Some(plugin) = all.into_iter().find(|plugin| plugin["name"] == name) else {
            return Err(Failure::Failed(format!("there is no plugin \"{name}\"")));
        };
        let mut answer = plugin.to_string();
        for capability in plugin["missing"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let path = format!("plugins/{}/grant/{}", part(name), part(capability));
            answer = self.client.post(&path, "").await?;
        }
        self.answer(&answer, show::plugins::one)
    }

    async fn export_settings(&self, file: Option<PathBuf>, all: bool) -> Result<u8, Failure> {
        let document = self.client.get(&format!("settings/export?all={all}")).await?;
        let said = match file {
            Some(file) => {
                std::fs::write(&file, &document)
                    .map_err(|error| Failure::Failed(format!("{} can't be written: {error}", file.display())))?;
                json!({ "file": file })
            }
            None if !self.json => {
                // A file or a program gets it as it is.
                let shown = std::io::stdout().is_terminal();
                print(&if shown { plain(&document) } else { document })?;
                return Ok(0);
            }
            None => json!({ "document": document }),
        };
        self.answer(&said.to_string(), |_| Ok(String::new()))
    }

    /// A source's key, from where the command line says.
    async fn key(&self, new: &NewSource) -> Result<Option<String>, Failure> {
        match &new.key_env {
            Some(variable) => {
                let unset = |_| Failure::Failed(format!("the environment variable {variable} is not set"));
                std::env::var(variable).map(Some).map_err(unset)
            }
            None if new.key_stdin => stdin::line(&self.client).await.map(Some),
            None => Ok(None),
        }
    }

    async fn cost(&self, wanted: &WantedCosts) -> Result<u8, Failure> {
        let mut path = format!("costs?by={}", wanted.by);
        for (name, day) in [("since", &wanted.since), ("until", &wanted.until)] {
            if let Some(day) = day {
                path.push_str(&format!("&{name}={}", part(&self::day(day, &TimeZone::system())?)));
            }
        }
        if let Some(run) = &wanted.run {
            path.push_str(&format!("&run={}", part(run)));
        }
        let answer = self.client.get(&path).await?;
        self.answer(&answer, show::costs::report)
    }

    async fn price(&self, command: Price) -> Result<u8, Failure> {
        let (answer, all) = match command {
            Price::List { all } => (self.client.get("prices").await?, all),
            Price::Set(new) => {
                let today = day("today", &TimeZone::system())?;
                let body = price::document(&new, &today).to_string();
                (self.client.raw(Method::PUT, "prices", body).await?, false)
            }
            Price::Remove { model, source, from } => {
                let mut path = format!("prices?model={}", part(&model));
                for (name, value) in [("source", &source), ("valid_from", &from)] {
                    path.extend(value.iter().map(|value| format!("&{name}={}", part(value))));
                }
                (self.client.raw(Method::DELETE, &path, "").await?, false)
            }
        };
        self.answer(&answer, |answer| show::costs::prices(answer, all))
    }

    async fn questions(&self, command: Questions) -> Result<u8, Failure> {
        let (id, allow) = match command {
            Questions::List => {
                let answer = self.client.get("questions").await?;
                return self.answer(&answer, show::questions::list);
            }
            Questions::Allow { id } => (id, true),
            Questions::Deny { id } => (id, false),
        };
        let body = json!({ "allow": allow }).to_string();
        let answer = self.client.post(&format!("questions/{id}"), body).await?;
        self.answer(&answer, show::questions::answered)
    }

    async fn runs(&self, command: Runs) -> Result<u8, Failure> {
        match command {
            Runs::List { limit, before } => {
                let before = before.map(|before| format!("&before={}", part(&before)));
                let path = format!("runs?limit={limit}{}", before.unwrap_or_default());
                let answer = self.client.get(&path).await?;
                self.answer(&answer, |answer| show::runs::list(answer, &TimeZone::system()))
            }
            Runs::Show { id } => {
                let answer = self.client.get(&format!("runs/{}", part(&id))).await?;
                self.answer(&answer, |answer| show::runs::show(answer, &TimeZone::system()))
            }
        }
    }
}

/// A day: a date, `today`, or so many days ago.
fn day(text: &str, zone: &TimeZone) -> Result<String, Failure> {
    let ago = match text.strip_suffix('d').map(str::parse::<i64>) {
        Some(Ok(days)) => days,
        _ if text == "today" => 0,
        _ => return Ok(text.to_owned()),
    };
    let now = i64::try_from(homeagent_types::now()).ok().and_then(|now| jiff::Timestamp::from_millisecond(now).ok());
    let today = now.unwrap_or_default().to_zoned(zone.clone()).date();
    let span = jiff::Span::new().try_days(ago);
    let day = span.and_then(|span| today.checked_sub(span));
    day.map(|day| day.to_string()).map_err(|_| Failure::Usage(format!("{text}: that is too long ago")))
}

/// Options of sources that the daemon itself reads.
const HOST_OPTIONS: [&str; 8] =
    ["temperature", "max_tokens", "thinking", "stream", "concurrent", "per_minute", "batch", "dimensions"];

/// What is to be another of a source, as the API takes it.
fn source_change(changes: &[(String, String)]) -> Result<Value, Failure> {
    let mut body = json!({ "options": {} });
    for (what, value) in changes {
        let option =
            what.strip_prefix("option.").or_else(|| HOST_OPTIONS.contains(&what.as_str()).then_some(what.as_str()));
        match (what.as_str(), option) {
            (_, Some(option)) => {
                body["options"][option] = if value.is_empty() { Value::Null } else { json!(value) };
            }
            ("model" | "line", None) => body[what] = json!(value),
            ("enabled", None) => {
                body[what] = match value.as_str() {
                    "yes" | "on" | "true" => json!(true),
                    "no" | "off" | "false" => json!(false),
                    _ => return Err(Failure::Usage("enabled is yes or no".to_owned())),
                };
            }
            _ => {
                let known = HOST_OPTIONS.join(", ");
                return Err(Failure::Usage(format!(
                    "\"{what}\" can't be set; there are model, line, enabled, {known}, and option.NAME for what the \
                     adapter reads"
                )));
            }
        }
    }
    Ok(body)
}

fn new_source(new: &NewSource, key: Option<&str>) -> Value {
    let options: serde_json::Map<String, Value> =
        new.options.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str()))).collect();
    json!({
        "adapter": new.adapter,
        "base_url": new.base_url,
        "model": new.model,
        "line": new.line,
        "key": key,
        "options": options,
    })
}

/// A path as the daemon can use it, whose folder is another.
fn whole(file: &Path) -> Result<String, Failure> {
    let path = std::path::absolute(file).map_err(|error| Failure::Failed(format!("{}: {error}", file.display())))?;
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Failure::Failed(format!("{} is no path in UTF-8, which the daemon wants", file.display())))
}
