//! What comes of messages and notices.

use std::collections::BTreeSet;

use homeagent_sdk::sockets::ConnectionId;
use serde_json::{Value, json};

use crate::content::{self, Content, Medium};
use crate::desk::Purpose;
use crate::draft::{Draft, LOOKUP_TIME, PATIENCE};
use crate::effect::{Effect, info, warning};
use crate::event::{Message, Place};
use crate::fetch::{self, Fetched};
use crate::group::{Addressed, Line};
use crate::inbound;
use crate::lookup::{Facts, Lookup, Quoted};
use crate::notice::Notice;
use crate::rate::Verdict;
use crate::segment::Segment;
use crate::settings::Settings;
use crate::state::{Contact, Qq};

/// What the agent is told of, where it is about the agent itself.
const OWN: [&str; 5] = ["poke", "join", "friend-add", "upload", "admin"];

/// As many bytes of pictures are held for messages that wait, those counted that may still come; beyond, no further ones
/// are fetched.
const MOST_PICTURES: usize = 12 << 20;

/// While the agent takes nothing and so many inputs wait for it, no pictures are fetched.
const MOST_KEPT: usize = 8;

impl Qq {
    /// Somebody said something.
    pub(crate) fn message(&mut self, frame: &Value, message: Message, settings: &Settings, now: u64) -> Vec<Effect> {
        if message.user == message.self_id || self.accounts.is_ours(&message.user) {
            return Vec::new();
        }
        if inbound::platform_id(&message).is_some_and(|id| !self.known.seen.keep(&id, ())) {
            return Vec::new();
        }
        if let Some(name) = &message.name {
            self.known.names.keep(&name_key(&message.place, &message.user), name.clone());
        }
        if !settings.listens(&message.place, &message.user, message.platform_role) {
            return Vec::new();
        }
        let contact = Contact { account: message.self_id.clone(), group: message.reply_group.clone() };
        self.known.peers.keep(&message.place.name(), contact);
        self.begin(frame, message, settings, now)
    }

    /// Takes in a message that has not been heard before.
    pub(crate) fn begin(&mut self, frame: &Value, message: Message, settings: &Settings, now: u64) -> Vec<Effect> {
        let (content, _) = content::read(&message.segments, &message.self_id, &Facts::default());
        if content == Content::default() {
            return Vec::new();
        }
        let addressed = self.judge(&message, &content, settings);
        if addressed == Addressed::No {
            self.keep_background(&message, &content, settings);
            return Vec::new();
        }
        if addressed == Addressed::Yes
            && let Some(effects) = self.too_many(&message, settings, now)
        {
            return effects;
        }
        let mut draft = Draft::new(message, frame.clone(), addressed, now);
        self.recall_quoted(&mut draft, &content);
        let number = self.drafts.push(draft);
        let mut effects = self.look_up(number, settings, now);
        effects.extend(self.finish_ready(settings));
        effects
    }

    fn judge(&self, message: &Message, content: &Content, settings: &Settings) -> Addressed {
        let Some(group) = message.place.group() else { return Addressed::Yes };
        let mine = content.reply_to.as_ref().and_then(|id| {
            let is_sent = self.known.sent.get(&format!("{}:{id}", message.self_id)).is_some();
            let is_others = || self.known.backgrounds.find(&message.self_id, group, id).is_some();
            if is_sent { Some(true) } else { is_others().then_some(false) }
        });
        settings.policy(group).judge(content, &settings.keywords, mine)
    }

    /// Fills in the message that was replied to, where it is still known. A line that stands for more than words is what
    /// is left where the client does not tell the message itself.
    fn recall_quoted(&self, draft: &mut Draft, content: &Content) {
        let message = &draft.message;
        let (Some(group), Some(id)) = (message.place.group(), &content.reply_to) else { return };
        if let Some(line) = self.known.backgrounds.find(&message.self_id, group, id) {
            let (user, name) = (Some(line.user.clone()), Some(line.name.clone()));
            draft.facts.quoted =
                Some(Quoted { user, name, segments: vec![Segment::text(&line.text)], more: line.more });
        }
    }

    /// Some when the sender has said too much.
    fn too_many(&mut self, message: &Message, settings: &Settings, now: u64) -> Option<Vec<Effect>> {
        let sender = format!("{}/{}", message.self_id, message.user);
        match self.known.rates.count(&sender, settings.rate_per_minute, now) {
            Verdict::Heard => None,
            Verdict::TooMany { first: false } => Some(Vec::new()),
            Verdict::TooMany { first: true } => Some(vec![
                warning(format!(
                    "{} says more on QQ than {} messages a minute and is not listened to for a while",
                    message.user, settings.rate_per_minute
                )),
                Effect::Publish { topic: "rate-limited", payload: json!({ "user": message.user }) },
            ]),
        }
    }

    /// Asks for what is missing before a message can be read whole.
    fn look_up(&mut self, number: u64, settings: &Settings, now: u64) -> Vec<Effect> {
        let room = MOST_PICTURES.saturating_sub(self.drafts.weight()) / fetch::LARGEST;
        let room = if self.kept.len() < MOST_KEPT { room } else { 0 };
        let Some(draft) = self.drafts.get_mut(number) else { return Vec::new() };
        let place = draft.message.place.clone();
        let account = draft.message.self_id.clone();
        for who in draft.message.segments.iter().filter(|it| it.kind == "at").filter_map(|it| it.id("qq")) {
            if let Some(name) = self.known.names.get(&name_key(&place, &who)) {
                draft.facts.names.insert(who, name.clone());
            }
        }
        let (content, mut wanted) = content::read(&draft.message.segments, &account, &draft.facts);
        if let Some(id) = content.reply_to.clone().filter(|_| draft.facts.quoted.as_ref().is_none_or(|it| it.more)) {
            wanted.insert(Lookup::Quoted(id));
        }
        if let Some(quoted) = &draft.facts.quoted {
            let (_, within) = content::read(&quoted.segments, &account, &draft.facts);
            wanted.extend(within.into_iter().filter(|lookup| !matches!(lookup, Lookup::Name(_))));
        }
        wanted.extend(pictures(draft, &content.media, settings).into_iter().take(room));
        // A reply that is perhaps not for us is worth one question, and the rest only when it is.
        if draft.addressed != Addressed::Yes {
            wanted.retain(|lookup| matches!(lookup, Lookup::Quoted(_)));
        }
        if now.saturating_sub(draft.since) > PATIENCE {
            return Vec::new();
        }
        let connection = self.accounts.requests(&account);
        self.ask_all(number, wanted, connection, &place, now)
    }

    fn ask_all(
        &mut self,
        number: u64,
        wanted: BTreeSet<Lookup>,
        connection: Option<ConnectionId>,
        place: &Place,
        now: u64,
    ) -> Vec<Effect> {
        // Without a connection there are only pictures to ask for.
        let wanted = wanted.into_iter().filter(|it| connection.is_some() || matches!(it, Lookup::Picture { .. }));
        let lookups = self.drafts.ask(number, wanted.collect());
        let ask = |lookup: Lookup| {
            if let Lookup::Picture { url, address } = lookup {
                return Some(Effect::Fetch { draft: number, url, address });
            }
            let (action, params) = lookup.request(place)?;
            let purpose = Purpose::Lookup { draft: number, lookup };
            let question = self.desk.ask(connection?, (action, &params), purpose, now, LOOKUP_TIME);
            Some(Effect::Ask { question, ticket: None })
        };
        lookups.into_iter().filter_map(ask).collect()
    }

    /// What became of a picture.
    pub(crate) fn fetched(
        &mut self,
        number: u64,
        url: String,
        fetched: Fetched,
        settings: &Settings,
        now: u64,
    ) -> Vec<Effect> {
        let is_last = self.drafts.answered(number, |facts| _ = facts.pictures.insert(url, fetched));
        let mut effects = if is_last { self.look_up(number, settings, now) } else { Vec::new() };
        effects.extend(self.finish_ready(settings));
        effects
    }

    /// An answer to a look-up, or that there is none.
    pub(crate) fn looked_up(
        &mut self,
        number: u64,
        lookup: &Lookup,
        data: Option<&Value>,
        settings: &Settings,
        now: u64,
    ) -> Vec<Effect> {
        let learn = |facts: &mut Facts| data.into_iter().for_each(|data| facts.learn(lookup, data));
        let is_last = self.drafts.answered(number, learn);
        let mut effects = Vec::new();
        if let Some(draft) = self.drafts.get_mut(number) {
            if let Lookup::Name(user) = lookup
                && let Some(name) = draft.facts.names.get(user)
            {
                self.known.names.keep(&name_key(&draft.message.place, user), name.clone());
            }
            let is_mine =
                draft.facts.quoted.as_ref().is_some_and(|it| it.user.as_ref() == Some(&draft.message.self_id));
            if draft.addressed == Addressed::IfMine && is_mine {
                let message = draft.message.clone();
                let refused = self.too_many(&message, settings, now);
                if let Some(draft) = self.drafts.get_mut(number) {
                    draft.addressed = if refused.is_some() { Addressed::No } else { Addressed::Yes };
                }
                effects.extend(refused.unwrap_or_default());
            }
        }
        if is_last {
            // What came may have to be looked into in turn, such as a forward within a forward.
            effects.extend(self.look_up(number, settings, now));
        }
        effects.extend(self.finish_ready(settings));
        effects
    }

    /// Whether a picture is still wanted for a message.
    pub(crate) fn wants_picture(&self, number: u64, now: u64) -> bool {
        self.drafts.wants_picture(number, now)
    }

    /// Hands on the messages that need not wait any more.
    pub(crate) fn finish_ready(&mut self, settings: &Settings) -> Vec<Effect> {
        let mut effects = Vec::new();
        for draft in self.drafts.ready() {
            let (message, facts) = (&draft.message, &draft.facts);
            let (content, _) = content::read(&message.segments, &message.self_id, facts);
            // Nobody knows whose message it replies to, or it is somebody else's.
            if draft.addressed != Addressed::Yes {
                self.keep_background(message, &content, settings);
                continue;
            }
            let group = message.place.group();
            let is_command = content.text.starts_with('/');
            let background = group.filter(|_| !is_command);
            let background = background.and_then(|group| self.known.backgrounds.take(&message.self_id, group));
            let submission = inbound::submission(message, &content, facts, background.as_deref());
            if let Some(id) = &submission.platform_id {
                self.passing.push_back((id.clone(), draft.frame.clone()));
            }
            effects.push(Effect::Submit(Box::new(submission)));
        }
        effects
    }

    fn keep_background(&mut self, message: &Message, content: &Content, settings: &Settings) {
        if let Some(group) = message.place.group() {
            let name = message.name.as_deref().unwrap_or(&message.user);
            let line = Line::new(message.id.clone(), &message.user, name, &inbound::line(content));
            let line = line.standing_for_more(message.segments.iter().any(|it| !it.is_words()));
            self.known.backgrounds.keep(&message.self_id, group, line, settings.background);
        }
    }

    /// Something happened, or somebody asks to be let in.
    pub(crate) fn notice(&mut self, notice: &Notice, settings: &Settings, now: u64) -> Vec<Effect> {
        if let (Some(group), Some(id)) = (notice.place.group(), &notice.recalled) {
            self.known.backgrounds.forget(&notice.self_id, group, id);
        }
        let name = |who: &str| self.known.names.get(&name_key(&notice.place, who)).cloned();
        let words = notice.text(|who| name(who).unwrap_or_else(|| who.to_owned()));
        let submit = |place: &Place, text: String| {
            vec![Effect::Submit(Box::new(inbound::notice(notice, place, &text, name(&notice.user))))]
        };
        if let Some(request) = &notice.request {
            if settings.blocks(&notice.user) {
                return Vec::new();
            }
            let tool = format!("qq_set_{}_add_request", request.kind);
            let text =
                format!("[请求] {words}\n（用 {tool} 答复，flag: {}，sub_type: {}）", request.flag, request.sub_type);
            // All who ask share one rate: a stranger may come under many names.
            let of_all = format!("{}/requests", notice.self_id);
            let verdict = self.known.rates.count(&of_all, settings.rate_per_minute, now);
            return match &settings.requests_to {
                _ if verdict != Verdict::Heard => Vec::new(),
                Some(place) => submit(place, text),
                None => vec![
                    info(format!("a request on QQ waits for an answer: {words}; flag {}", request.flag)),
                    Effect::Publish { topic: "request", payload: json!({ "text": words, "flag": request.flag }) },
                ],
            };
        }
        let is_told = settings.notices.iter().any(|told| told == notice.what);
        let is_own = notice.about_me && OWN.contains(&notice.what);
        if !settings.listens(&notice.place, &notice.user, "friend") {
            return Vec::new();
        }
        if is_told || is_own {
            let sender = format!("{}/{}", notice.self_id, notice.user);
            let verdict = self.known.rates.count(&sender, settings.rate_per_minute, now);
            return if verdict == Verdict::Heard {
                submit(&notice.place, format!("[通知] {words}"))
            } else {
                Vec::new()
            };
        }
        if let Some(group) = notice.place.group() {
            let line = Line::new(None, &notice.user, "通知", &words);
            self.known.backgrounds.keep(&notice.self_id, group, line, settings.background);
        }
        if notice.about_me { vec![warning(format!("on QQ, in {}: {words}", notice.place.name()))] } else { Vec::new() }
    }
}

/// The pictures of a message that are to be fetched, and of what it replies to.
fn pictures(draft: &Draft, own: &[Medium], settings: &Settings) -> Vec<Lookup> {
    let quoted = draft.facts.quoted.iter();
    let quoted = quoted.flat_map(|it| content::read(&it.segments, &draft.message.self_id, &draft.facts).0.media);
    let all = own.iter().cloned().chain(quoted).filter(|medium| medium.kind == "image").map(|medium| medium.url);
    let all = all.filter_map(|url| {
        let address = fetch::address(&url, &settings.picture_hosts)?;
        Some(Lookup::Picture { url, address })
    });
    all.take(fetch::MOST).collect()
}

/// What a name is kept under: people are called otherwise in each group.
fn name_key(place: &Place, user: &str) -> String {
    format!("{}/{user}", place.group().unwrap_or_default())
}
