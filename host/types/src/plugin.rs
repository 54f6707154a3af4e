//! What plugins offer.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::stage::StageRegistration;
use crate::{ChannelDefinition, Meta, ToolDefinition};

/// What a plugin says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Descriptor {
    /// The plugin's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// One line for people.
    pub summary: String,
    /// Its tools.
    pub tools: Vec<ToolDefinition>,
    /// Its stage handlers.
    pub stages: Vec<StageRegistration>,
    /// Topics of the bus it wants. A last `*` matches any rest.
    pub events: Vec<String>,
    /// Its output channels.
    pub channels: Vec<ChannelDefinition>,
    /// Listeners the host is to hold for it, by name.
    pub listeners: Vec<String>,
    /// Additions by name.
    pub meta: Meta,
}

/// Something offered, and the slot that offers it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Offer<T> {
    /// The slot's name.
    pub plugin: String,
    /// What it offers.
    pub item: T,
}

/// Everything the live plugins offer, as of one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Offers {
    /// Sorted by name; names are unique.
    pub tools: Vec<Offer<ToolDefinition>>,
    /// Sorted by priority, then plugin name.
    pub stages: Vec<Offer<StageRegistration>>,
    /// Sorted by name; names are unique.
    pub channels: Vec<Offer<ChannelDefinition>>,
    /// The plugins that may bring in what others wrote: they are granted a way to the network.
    pub outward: BTreeSet<String>,
}

impl Offers {
    /// Whether no plugin offers anything.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.stages.is_empty() && self.channels.is_empty()
    }

    /// The tool of this name.
    pub fn tool(&self, name: &str) -> Option<&Offer<ToolDefinition>> {
        let at = self.tools.binary_search_by(|offer| offer.item.name.as_str().cmp(name)).ok()?;
        self.tools.get(at)
    }

    /// The channel of this name.
    pub fn channel(&self, name: &str) -> Option<&Offer<ChannelDefinition>> {
        self.channels.iter().find(|offer| offer.item.name == name)
    }
}
