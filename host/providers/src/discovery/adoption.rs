//! What a home without a source does when there is nobody to ask.

use super::{ADOPT, Discovery, DiscoveryError, Found, Offer};

impl Discovery {
    /// Takes the only source that is found into use, where none is configured and the owner has neither removed nor
    /// declined one. What was done, or what the owner can do, is one line of the log.
    ///
    /// # Errors
    ///
    /// What looking and accepting answer.
    pub async fn adopt(&self) -> Result<(), DiscoveryError> {
        if !self.sources.list().is_empty() {
            return Ok(());
        }
        if !self.settings.boolean(ADOPT)? {
            tracing::info!(
                "no source is configured, and none is taken by itself since one was removed or declined; `waiter \
                 source offers` shows what there is, `waiter settings unset {ADOPT}` has it taken by itself again"
            );
            return Ok(());
        }
        let Found { offers, notes } = match self.look().await {
            Err(DiscoveryError::Off) => return Ok(()),
            found => found?,
        };
        for note in notes {
            tracing::info!("{note}");
        }
        // The owner may have added one meanwhile.
        if !self.sources.list().is_empty() {
            return Ok(());
        }
        match offers.as_slice() {
            [] => tracing::info!(
                "no source is configured and none is found, so the rehearsal answers; `waiter source add` adds one, and \
                 a key in homed's environment, such as DEEPSEEK_API_KEY, is found at its next start"
            ),
            [only] => self.adopt_only(only.clone()).await?,
            several => {
                let commands: Vec<String> =
                    several.iter().map(|offer| format!("`waiter source accept {}`", offer.name)).collect();
                tracing::info!(
                    "no source is configured and several are found, so none is taken; choose with {}",
                    commands.join(" or ")
                );
            }
        }
        Ok(())
    }

    async fn adopt_only(&self, offer: Offer) -> Result<(), DiscoveryError> {
        let Offer { name, found_in, .. } = offer.clone();
        let source = self.take(offer, None).await?;
        tracing::info!(
            source = name,
            model = source.model,
            found_in,
            "no source was configured and exactly one is found, so it is used; `waiter source remove {name}` undoes it"
        );
        Ok(())
    }
}
