//! Trying channels.

use std::path::Path;
use std::sync::Arc;

use homeagent_contract::Kind;
use homeagent_types::ports::Mind;
use homeagent_types::{CallError, Recording, Submission};

use super::{Inner, WATCH, read, refused, stop};
use crate::package::{Origin, Prepared};
use crate::slot::supervisor;
use crate::trial::{self, Caught};

impl Inner {
    /// See [`PluginAdmin::try_channel`](homeagent_types::ports::PluginAdmin::try_channel).
    pub(super) async fn try_channel(
        &self,
        name: &str,
        folder: Option<&Path>,
        recordings: Vec<Recording>,
    ) -> Result<Vec<Result<Vec<Submission>, CallError>>, CallError> {
        let origin = match folder {
            Some(folder) => Origin::Installed(folder.to_owned()),
            None => self.find(name)?,
        };
        let package = read(&origin).await.map_err(|error| refused(&error))?;
        let name = package.manifest.name.clone();
        let no_channel = || CallError::Invalid(format!("{name} has no listener whose frames could be played to it"));
        if package.manifest.kind != Kind::Plugin || package.manifest.interprets.is_some() {
            return Err(no_channel());
        }
        let (seat, _) = self.trial_seat(&name, Arc::new(self.services.apart(Default::default())));
        let prepared = Arc::new(self.prepare(&seat, package).await.map_err(|error| refused(&error))?);
        let listener = prepared.descriptor.listeners.first().cloned().ok_or_else(no_channel)?;
        let mut outcomes = Vec::with_capacity(recordings.len());
        for recording in recordings {
            outcomes.push(Box::pin(self.play(&prepared, &listener, recording)).await);
        }
        Ok(outcomes)
    }

    /// Plays one recording, on an instance of its own.
    async fn play(
        &self,
        prepared: &Arc<Prepared>,
        listener: &str,
        recording: Recording,
    ) -> Result<Vec<Submission>, CallError> {
        let manifest = &prepared.package.manifest;
        let caught = Arc::new(Caught::default());
        let services = self.services.apart(trial::settings(&self.services.settings, manifest));
        let mind: Arc<dyn Mind> = Arc::clone(&caught) as _;
        services.bind(Arc::downgrade(&mind));
        let (seat, jobs) = self.trial_seat(&manifest.name, Arc::new(services));
        let slot = supervisor::start(seat, Arc::clone(prepared), jobs).await.map_err(CallError::Other)?;
        let played = tokio::select! {
            played = trial::play(&slot, listener, recording) => played,
            never = async {
                loop {
                    tokio::time::sleep(WATCH).await;
                    slot.watch();
                }
            } => never,
        };
        // What it still does it does before its inputs are looked at.
        stop(&slot).await;
        slot.core.disk.end().await;
        self.forget_kept(&slot.core.grants.keeps_under()).await?;
        played.map(|()| caught.take())
    }
}
