//! What the live plugins offer, each thing under the slot that offers it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use homeagent_types::ports::{OwnAddress, OwnSocket, ServedPath, Speaks};
use homeagent_types::stage::{FailurePolicy, Scope};
use homeagent_types::{Descriptor, Effect, Offer, Offers, ToolDefinition};

use tokio::sync::watch;

use crate::grants::GrantTable;
use crate::wants::unix::UnixSocket;
use crate::wants::{Listen, PathWant, Want as _, holds, overlap};

/// The registrations of all slots, and the snapshot that the agent works on.
#[derive(Default)]
pub(crate) struct Registrations {
    slots: Mutex<BTreeMap<String, Registered>>,
    snapshot: RwLock<Arc<Offers>>,
    /// What came of each plugin's own addresses.
    addresses: Mutex<BTreeMap<String, Vec<OwnAddress>>>,
    /// What came of each plugin's unix sockets.
    sockets: Mutex<BTreeMap<String, Vec<OwnSocket>>>,
    /// Counts the snapshots.
    changes: watch::Sender<u64>,
}

struct Registered {
    descriptor: Arc<Descriptor>,
    grants: GrantTable,
}

/// What opens a way on which words of others come in.
pub(crate) const OUTWARD: [&str; 3] = ["http", "connect", "listen"];

impl Registrations {
    pub(crate) fn offers(&self) -> Arc<Offers> {
        Arc::clone(&self.snapshot.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts what a plugin offers in the place of what it offered before.
    ///
    /// Fails, and changes nothing, when it offers a name that another plugin has; the error names both.
    pub(crate) fn put(&self, slot: &str, descriptor: Arc<Descriptor>, grants: GrantTable) -> Result<(), String> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        check_names(&slots, slot, (&descriptor, &paths(&grants)), |capability| grants.allows(capability))?;
        slots.insert(slot.to_owned(), Registered { descriptor, grants });
        self.publish(&slots);
        Ok(())
    }

    /// What a slot offers now, granted or not.
    pub(crate) fn descriptor(&self, slot: &str) -> Option<Arc<Descriptor>> {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.get(slot).map(|registered| Arc::clone(&registered.descriptor))
    }

    /// Whether [`Registrations::put`] would succeed.
    pub(crate) fn check(&self, slot: &str, descriptor: &Descriptor, grants: &GrantTable) -> Result<(), String> {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        check_names(&slots, slot, (descriptor, &paths(grants)), |capability| grants.allows(capability))
    }

    pub(crate) fn replace_tools(&self, slot: &str, tools: Vec<ToolDefinition>) -> Result<(), String> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(registered) = slots.get(slot) else { return Err("the plugin is not registered".into()) };
        let descriptor = Descriptor { tools, ..(*registered.descriptor).clone() };
        let grants = &registered.grants;
        check_names(&slots, slot, (&descriptor, &paths(grants)), |capability| grants.allows(capability))?;
        if let Some(registered) = slots.get_mut(slot) {
            registered.descriptor = Arc::new(descriptor);
        }
        self.publish(&slots);
        Ok(())
    }

    pub(crate) fn remove(&self, slot: &str) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.remove(slot).is_some() {
            self.publish(&slots);
        }
    }

    /// Takes back what a plugin offers that runs no more, except its handlers that fail closed: a guard that is gone
    /// must not be a gate that is open. They answer with an error from now on, and that refuses.
    pub(crate) fn keep_closed_handlers(&self, slot: &str) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(registered) = slots.get_mut(slot) else { return };
        let mut descriptor = (*registered.descriptor).clone();
        descriptor.tools.clear();
        descriptor.channels.clear();
        descriptor.listeners.clear();
        descriptor.stages.retain(|stage| stage.policy() == FailurePolicy::Closed);
        registered.descriptor = Arc::new(descriptor);
        self.publish(&slots);
    }

    /// Whether what a slot may offer would clash with what others may, once it was granted a capability.
    pub(crate) fn clash(&self, slot: &str, granted: &str) -> Result<(), String> {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.get(slot).map_or(Ok(()), |registered| {
            let may = |capability: &str| capability == granted || registered.grants.allows(capability);
            let asked = registered.grants.asked::<Listen>().as_ref().map(listed);
            let paths =
                if granted == Listen::CAPABILITY { asked.unwrap_or_default() } else { paths(&registered.grants) };
            check_names(&slots, slot, (&registered.descriptor, &paths), may)
        })
    }

    /// Makes the snapshot anew, after grants changed.
    pub(crate) fn refresh(&self) {
        self.publish(&self.slots.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The slot that holds the listener of this name.
    pub(crate) fn listener(&self, name: &str) -> Option<String> {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let holds = |registered: &Registered| {
            registered.descriptor.listeners.iter().any(|listener| listener == name)
                && registered.grants.allows("listen")
        };
        slots.iter().find(|(_, registered)| holds(registered)).map(|(slot, _)| slot.clone())
    }

    /// Who serves what is asked for; the names of the settings are the plugin's own.
    pub(crate) fn served(&self, asked: &str) -> Option<ServedPath> {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.iter().find_map(|(slot, registered)| {
            let listen = registered.grants.granted::<Listen>()?;
            let found = served_paths(registered, &listen).find(|it| holds(it.path, asked))?;
            let speaks = match listen.http.get(found.name).filter(|_| found.kind == "http") {
                Some(route) => Speaks::Http { methods: route.methods.clone() },
                None => Speaks::WebSocket { protocols: listen.websocket.get(found.name)?.protocols.clone() },
            };
            let (token, address) = (found.token.cloned(), found.address.cloned());
            Some(ServedPath { plugin: slot.clone(), listener: found.name.to_owned(), speaks, token, address })
        })
    }

    /// The slots that serve paths at addresses of their own, with the names of the settings that hold them.
    pub(crate) fn own_addresses(&self) -> Vec<(String, String)> {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |(slot, registered): (&String, &Registered)| {
            let listen = registered.grants.granted::<Listen>().unwrap_or_default();
            let settings = served_paths(registered, &listen).filter_map(|it| it.address.cloned());
            settings.map(|setting| (slot.clone(), setting)).collect::<BTreeSet<_>>()
        };
        slots.iter().flat_map(of).collect()
    }

    pub(crate) fn note_addresses(&self, addresses: BTreeMap<String, Vec<OwnAddress>>) {
        *self.addresses.lock().unwrap_or_else(PoisonError::into_inner) = addresses;
    }

    pub(crate) fn addresses_of(&self, slot: &str) -> Vec<OwnAddress> {
        let all = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(slot).cloned().unwrap_or_default()
    }

    /// The unix sockets on which plugins have said that they listen, by plugin and listener.
    pub(crate) fn unix_sockets(&self) -> BTreeMap<(String, String), UnixSocket> {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |(slot, registered): (&String, &Registered)| {
            let listen = registered.grants.granted::<Listen>().unwrap_or_default();
            let says = |listener: &String| registered.descriptor.listeners.contains(listener);
            let sockets = listen.unix.into_iter().filter(|(listener, _)| says(listener));
            sockets.map(|(listener, socket)| ((slot.clone(), listener), socket)).collect::<Vec<_>>()
        };
        slots.iter().flat_map(of).collect()
    }

    pub(crate) fn note_sockets(&self, sockets: BTreeMap<String, Vec<OwnSocket>>) {
        *self.sockets.lock().unwrap_or_else(PoisonError::into_inner) = sockets;
    }

    pub(crate) fn sockets_of(&self, slot: &str) -> Vec<OwnSocket> {
        let all = self.sockets.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(slot).cloned().unwrap_or_default()
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// The names of the tools a slot offers, granted or not.
    pub(crate) fn tools_of(&self, slot: &str) -> Vec<String> {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.get(slot).map(|it| it.descriptor.tools.iter().map(|tool| tool.name.clone()).collect()).unwrap_or_default()
    }

    /// What a tool does to the world: the most there is, where the slot does not offer it.
    pub(crate) fn effect(&self, slot: &str, tool: &str) -> Effect {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let known = slots.get(slot).and_then(|it| it.descriptor.tools.iter().find(|known| known.name == tool));
        known.map_or(Effect::World, |tool| tool.effect)
    }

    /// Whether a tool needs nothing of what its plugin keeps.
    pub(crate) fn is_stateless(&self, slot: &str, tool: &str) -> bool {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tools = slots.get(slot).into_iter().flat_map(|it| &it.descriptor.tools);
        tools.any(|known| known.name == tool && known.stateless)
    }

    fn publish(&self, slots: &BTreeMap<String, Registered>) {
        let mut offers = Offers::default();
        for (slot, registered) in slots {
            let (descriptor, grants) = (&registered.descriptor, &registered.grants);
            if grants.allows("tools") {
                offers.tools.extend(owned(slot, &descriptor.tools));
            }
            if grants.allows("output") {
                offers.channels.extend(owned(slot, &descriptor.channels));
            }
            if OUTWARD.iter().any(|capability| grants.allows(capability)) {
                offers.outward.insert(slot.clone());
            }
            let everywhere = grants.allows("stages");
            let stages = descriptor.stages.iter().filter(|stage| everywhere || stage.scope == Scope::OwnTools);
            offers.stages.extend(stages.map(|stage| Offer { plugin: slot.clone(), item: stage.clone() }));
        }
        offers.tools.sort_by(|a, b| a.item.name.cmp(&b.item.name));
        offers.channels.sort_by(|a, b| a.item.name.cmp(&b.item.name));
        offers.stages.sort_by(|a, b| (a.item.priority, &a.plugin).cmp(&(b.item.priority, &b.plugin)));
        *self.snapshot.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(offers);
        self.changes.send_modify(|count| *count += 1);
    }
}

fn owned<T: Clone>(slot: &str, items: &[T]) -> impl Iterator<Item = Offer<T>> {
    items.iter().map(move |item| Offer { plugin: slot.to_owned(), item: item.clone() })
}

/// Fails where a name is wanted that another slot has. Only what a plugin may offer takes a name, on either side: else
/// one that was granted nothing could keep others from loading, or would itself not be loaded for what nobody gets from it.
fn check_names(
    slots: &BTreeMap<String, Registered>,
    slot: &str,
    (wanted, paths): (&Descriptor, &[String]),
    may: impl Fn(&str) -> bool,
) -> Result<(), String> {
    for (other, registered) in slots.iter().filter(|(other, _)| *other != slot) {
        let has = &registered.descriptor;
        let holds = |capability: &str| may(capability) && registered.grants.allows(capability);
        let tool = wanted.tools.iter().find(|tool| has.tools.iter().any(|taken| taken.name == tool.name));
        let tool = tool.filter(|_| holds("tools"));
        let channel = wanted.channels.iter().find(|it| has.channels.iter().any(|taken| taken.name == it.name));
        let channel = channel.filter(|_| holds("output"));
        let listener = wanted.listeners.iter().find(|listener| has.listeners.contains(listener));
        let listener = listener.filter(|_| holds("listen"));
        let taken = self::paths(&registered.grants);
        let path = paths.iter().find(|path| taken.iter().any(|taken| overlap(taken, path)));
        let path = path.filter(|_| holds("listen"));
        let clash = tool
            .map(|tool| ("tool", &tool.name))
            .or_else(|| channel.map(|channel| ("channel", &channel.name)))
            .or_else(|| listener.map(|listener| ("listener", listener)))
            .or_else(|| path.map(|path| ("path", path)));
        if let Some((kind, name)) = clash {
            return Err(format!("the {kind} {name} is offered by {other} already, so {slot} can't offer it too"));
        }
    }
    Ok(())
}

/// The paths a plugin may serve.
fn paths(grants: &GrantTable) -> Vec<String> {
    grants.granted::<Listen>().as_ref().map(listed).unwrap_or_default()
}

fn listed(listen: &Listen) -> Vec<String> {
    listen.paths().map(|it| it.path.to_owned()).collect()
}

/// The paths at which the plugin has said that it listens; routes are there by their being listed.
fn served_paths<'a>(registered: &'a Registered, listen: &'a Listen) -> impl Iterator<Item = PathWant<'a>> {
    let listeners = &registered.descriptor.listeners;
    listen.paths().filter(|it| it.kind == "http" || listeners.iter().any(|listener| listener == it.name))
}

#[cfg(test)]
mod tests {
    use homeagent_types::{ChannelDefinition, OutputCapabilities};

    use super::*;
    use crate::grants::Author;

    fn descriptor(name: &str, tool: &str, channel: &str, listener: &str) -> Descriptor {
        Descriptor {
            name: name.into(),
            version: "1".into(),
            summary: String::new(),
            tools: vec![ToolDefinition {
                name: tool.into(),
                description: String::new(),
                parameters: serde_json::json!({ "type": "object" }),
                effect: Effect::Read,
                min_role: None,
                stateless: false,
                no_memory: false,
                cleaner: None,
                timeout_ms: None,
                meta: Vec::new(),
            }],
            stages: Vec::new(),
            events: Vec::new(),
            channels: vec![ChannelDefinition {
                name: channel.into(),
                description: String::new(),
                capabilities: OutputCapabilities::TEXT,
                help: String::new(),
                streaming: false,
                meta: Vec::new(),
            }],
            listeners: vec![listener.into()],
            meta: Vec::new(),
        }
    }

    fn wants() -> BTreeMap<String, toml::Table> {
        ["tools", "output", "listen"].map(|capability| (capability.to_owned(), toml::Table::new())).into()
    }

    fn grants(plugin: &str) -> (tempfile::TempDir, GrantTable) {
        let folder = tempfile::tempdir().expect("a folder");
        let database = homeagent_settings::Database::open(folder.path().join("db")).expect("a new database");
        let stored = homeagent_settings::Grants::open(&database).expect("new grants");
        let table = GrantTable::new(plugin.into(), stored);
        table.ask(wants(), Author::Bundled);
        (folder, table)
    }

    #[test]
    fn a_plugin_that_was_granted_nothing_takes_nobody_s_names() {
        let registrations = Registrations::default();
        let (_one, stranger) = grants("stranger");
        stranger.ask(wants(), Author::Owner);
        let (_two, cli) = grants("cli");
        registrations.put("stranger", Arc::new(descriptor("stranger", "add", "cli", "chat")), stranger).expect("free");
        registrations.put("cli", Arc::new(descriptor("cli", "add", "cli", "chat")), cli).expect("still free");
        assert_eq!(registrations.listener("chat").as_deref(), Some("cli"));
        for capability in ["tools", "output", "listen"] {
            assert!(registrations.clash("stranger", capability).is_err(), "a grant of {capability} comes too late now");
        }
        registrations.clash("stranger", "events").expect("this grant takes no name");
        let (_three, late) = grants("late");
        late.ask(wants(), Author::Owner);
        registrations.put("late", Arc::new(descriptor("late", "add", "cli", "chat")), late).expect("it gets nothing");
        assert_eq!(registrations.listener("chat").as_deref(), Some("cli"));
    }

    #[test]
    fn a_name_that_is_taken_is_refused_with_both_owners_and_nothing_changes() {
        let registrations = Registrations::default();
        let (_one, first) = grants("first");
        let (_two, second) = grants("second");
        registrations.put("first", Arc::new(descriptor("first", "add", "tv", "chat")), first).expect("nobody has them");
        let clashes =
            [("add", "x", "y", "tool add"), ("x", "tv", "y", "channel tv"), ("x", "y", "chat", "listener chat")];
        for (tool, channel, listener, words) in clashes {
            let wanted = Arc::new(descriptor("second", tool, channel, listener));
            let refused = registrations.put("second", wanted, second.clone()).expect_err("the first has it");
            assert!(refused.contains(words) && refused.contains("first") && refused.contains("second"), "{refused}");
        }
        assert_eq!(registrations.offers().tools.len(), 1);
        registrations.put("second", Arc::new(descriptor("second", "mul", "radio", "door")), second).expect("all free");
        let refused = registrations.replace_tools("second", descriptor("second", "add", "", "").tools);
        assert!(refused.is_err_and(|words| words.contains("first")));
        let names: Vec<_> = registrations.offers().tools.iter().map(|tool| tool.item.name.clone()).collect();
        assert_eq!(names, ["add", "mul"]);
    }

    #[test]
    fn a_path_is_served_by_one_plugin_and_taken_only_by_who_was_granted_it() {
        let listen = || {
            let details = toml::from_str("websocket.line = { path = \"/line\" }").expect("it is TOML");
            [("listen".to_owned(), details)].into()
        };
        let registrations = Registrations::default();
        let (_one, stranger) = grants("stranger");
        stranger.ask(listen(), Author::Owner);
        let (_two, board) = grants("board");
        board.ask(listen(), Author::Bundled);
        registrations.put("stranger", Arc::new(descriptor("stranger", "a", "b", "line")), stranger).expect("free");
        registrations.put("board", Arc::new(descriptor("board", "c", "d", "line")), board).expect("it was granted");
        assert_eq!(registrations.served("/line").map(|it| it.plugin).as_deref(), Some("board"));
        let clash = registrations.clash("stranger", "listen").expect_err("the board has it");
        assert!(clash.contains("line") && clash.contains("board"), "{clash}");
        let (_three, other) = grants("other");
        other.ask(listen(), Author::Bundled);
        let refused = registrations.put("other", Arc::new(descriptor("other", "e", "f", "another")), other);
        assert!(refused.is_err_and(|words| words.contains("the path /line is offered by board")));
    }
}
