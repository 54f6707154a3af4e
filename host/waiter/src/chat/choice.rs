//! Before a chat with a daemon that has no source: asks which of those that were found is used.

use std::io::Write;

use hyper::Method;
use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

use crate::client::{Client, part, read};
use crate::failure::Failure;
use crate::plain::{plain, plain_line};
use crate::show::offers::{Found, Offer};
use crate::show::sources;

/// The setting that is off once the owner has removed or declined a source.
const ADOPT: &str = "core.discovery.adopt";

/// Asks where there is something to choose, and does what is chosen. The end of the input chooses nothing.
pub(crate) async fn choose(
    client: &Client,
    input: &mut (impl AsyncBufRead + Unpin),
    output: &mut impl Write,
) -> Result<(), Failure> {
    let Some(offers) = to_choose_from(client).await? else { return Ok(()) };
    // A terminal that has gone shows when it is read.
    let mut say = |text: &str| drop(write!(output, "{}", plain(text)).and_then(|()| output.flush()));
    say("No model is connected yet. Found:\n");
    for (index, offer) in offers.iter().enumerate() {
        let line = format!("{} with {} ({})", offer.name, offer.model, offer.found_in);
        say(&format!("  {}  {}\n", index + 1, plain_line(&line)));
    }
    loop {
        say("Use which? A number or a name, Enter for the first, none to go on without: ");
        let mut line = String::new();
        let length = input.read_line(&mut line).await;
        if length.map_err(|error| Failure::Failed(format!("the answer can't be read: {error}")))? == 0 {
            say("\n");
            return Ok(());
        }
        let answer = line.trim();
        if answer == "none" {
            let body = json!({ "value": false }).to_string();
            client.raw(Method::PUT, &format!("settings/{ADOPT}"), body).await?;
            say(&format!(
                "You are not asked again; `waiter source offers` shows them, `waiter settings unset {ADOPT}` has you \
                 asked again.\n"
            ));
            return Ok(());
        }
        let Some(offer) = chosen(&offers, answer) else {
            say("That is none of them.\n");
            continue;
        };
        let accepted = client.post(&format!("sources/offers/{}/accept", part(&offer.name)), "").await;
        match accepted.and_then(|source| sources::one(&source, "is used")) {
            Ok(told) => {
                say(&told);
                return Ok(());
            }
            Err(failure) => say(&format!("{}\n", failure.sentence())),
        }
    }
}

/// What there is, where the daemon has no source and the owner wants to be asked.
async fn to_choose_from(client: &Client) -> Result<Option<Vec<Offer>>, Failure> {
    #[derive(Deserialize)]
    struct Setting {
        value: bool,
    }
    if !sources::is_empty(&client.get("sources").await?)? {
        return Ok(None);
    }
    let setting: Setting = read(&client.get(&format!("settings/{ADOPT}")).await?)?;
    if !setting.value {
        return Ok(None);
    }
    // A daemon that does not look for sources has nothing to choose from.
    let Ok(found) = client.get("sources/offers").await else { return Ok(None) };
    let Found { offers, .. } = read(&found)?;
    Ok(Some(offers).filter(|offers| !offers.is_empty()))
}

fn chosen<'a>(offers: &'a [Offer], answer: &str) -> Option<&'a Offer> {
    if answer.is_empty() {
        return offers.first();
    }
    let numbered = answer.parse::<usize>().ok().and_then(|number| offers.get(number.checked_sub(1)?));
    numbered.or_else(|| offers.iter().find(|offer| offer.name == answer))
}
