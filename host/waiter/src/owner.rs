//! Who is who: accounts of channels and their roles.

use hyper::Method;
use serde::Deserialize;
use serde_json::json;

use crate::args::Owner;
use crate::client::{part, read};
use crate::commands::{Desk, FAILED};
use crate::failure::Failure;
use crate::plain::plain_line;
use crate::{print, show};

/// How long one request waits for a pairing to end, in seconds; then it is asked again.
const WAIT: u32 = 10;

#[derive(Deserialize)]
struct Code {
    id: String,
    code: String,
}

#[derive(Deserialize)]
struct Status {
    id: String,
    state: String,
}

impl Desk {
    pub(crate) async fn owner(&self, command: Owner) -> Result<u8, Failure> {
        match command {
            Owner::Pair { no_wait } => self.pair(no_wait).await,
            Owner::List => {
                let answer = self.client.get("bindings").await?;
                self.answer(&answer, show::bindings::list)
            }
            Owner::Bind { channel, user, role } => {
                let body = json!({ "channel": channel, "user": user, "role": role }).to_string();
                let answer = self.client.post("bindings", body).await?;
                self.answer(&answer, show::bindings::one)
            }
            Owner::Unbind { channel, user } => {
                let path = format!("bindings/{}/{}", part(&channel), part(&user));
                let answer = self.client.raw(Method::DELETE, &path, "").await?;
                self.answer(&answer, show::bindings::unbound)
            }
        }
    }

    /// With `--json` there is one document: the code, or with waiting how it ended.
    async fn pair(&self, no_wait: bool) -> Result<u8, Failure> {
        let made = self.client.post("owner/pair", "").await?;
        let Code { id, code } = read(&made)?;
        if !self.json || no_wait {
            self.answer(&made, |_| {
                Ok(format!(
                    "code: {}\n\nSend this code to the agent, alone and in private, from the account that is to be \
                     yours.\nIt counts once, for 10 minutes.\n",
                    plain_line(&code)
                ))
            })?;
        } else {
            crate::complain(&format!("code: {}", plain_line(&code)));
        }
        if no_wait {
            return Ok(0);
        }
        loop {
            let answer = self.client.get(&format!("owner/pair?wait={WAIT}")).await?;
            let status: Status = read(&answer)?;
            if status.id != id {
                return Err(Failure::Failed("the code counts no more: another one was asked for".to_owned()));
            }
            match status.state.as_str() {
                "open" => {}
                "paired" => return self.answer(&answer, show::bindings::paired),
                _ if self.json => {
                    print(&crate::plain::plain_json(&answer))?;
                    return Ok(FAILED);
                }
                _ => return Err(Failure::Failed(show::bindings::ended(&answer)?)),
            }
        }
    }
}
