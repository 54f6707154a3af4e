//! The terminal channel: chats over the daemon's own unix socket.
//!
//! Every connection belongs to one conversation; what is said and answered there is seen by all connections of it.

mod protocol;
mod seats;

use futures::future::join_all;
use homeagent_sdk::inputs::{self, Submission};
use homeagent_sdk::sockets::{self, ConnectionId, Frame};
use homeagent_sdk::{
    Cause, Channel, ChannelDefinition, Connection, Delta, Descriptor, Error, Output, OutputCapabilities, Peer, Plugin,
    Receipt, Sockets, State, log,
};

use protocol::{Heard, Spoken, Words};
use seats::{Seat, Seats};

const HELP: &str = "Shows text to whoever has a terminal open (`waiter`). Text is Markdown, shown as it is written, and \
    is not split; lines of at most 100 characters read best. A structured message is a JSON object that `waiter` \
    prints as JSON. Of files, images and audio a link is shown. Nobody is reached while no terminal is open.";

static SEATS: State<Seats> = State::new(Seats::default);

struct Cli;

impl Plugin for Cli {
    fn describe() -> Descriptor {
        Descriptor::new("cli", env!("CARGO_PKG_VERSION"))
            .summary("Chats with people at a terminal.")
            .listener("chat")
            .channel(
                ChannelDefinition::new("cli", "The terminals that are open on this machine.")
                    .capabilities(OutputCapabilities::TEXT | OutputCapabilities::STRUCTURED)
                    .help(HELP)
                    .streaming(),
            )
    }
}

impl Sockets for Cli {
    async fn on_open(connection: Connection) {
        let seat = Seat::of(&connection);
        let hello = Spoken::Hello { conversation: &seat.conversation }.frame();
        SEATS.with(|seats| seats.take(connection.id, seat));
        if !connection.resumed {
            send(connection.id, hello).await;
        }
    }

    async fn on_frames(connection: ConnectionId, frames: Vec<Frame>) {
        let Some(seat) = SEATS.with(|seats| seats.of(connection)) else {
            send(connection, Spoken::error("this connection is not open").frame()).await;
            return;
        };
        for frame in frames {
            let answer = match protocol::hear(&frame) {
                Ok(heard) => act(connection, &seat, heard).await,
                Err(reason) => Spoken::error(&reason).frame(),
            };
            send(connection, answer).await;
        }
    }

    async fn on_close(connection: ConnectionId, _reason: String) {
        SEATS.with(|seats| seats.leave(connection));
    }
}

impl Channel for Cli {
    async fn deliver(output: Output, _cause: Cause) -> Result<Receipt, Error> {
        let Peer::Person(conversation) = &output.conversation.peer else {
            return Err(Error::not_found("the terminal has conversations with single people only, no groups"));
        };
        let readers = SEATS.with(|seats| seats.in_conversation(conversation));
        let frame = Spoken::output(&output)?.frame();
        let sent = join_all(readers.into_iter().map(|reader| send(reader, frame.clone()))).await;
        if sent.contains(&true) {
            Ok(Receipt::sent())
        } else {
            Err(Error::not_found(format!(
                "nobody has a terminal open in the conversation `{conversation}`, so this was not shown; use another \
                 channel, or say it when they are back"
            )))
        }
    }

    async fn show(deltas: Vec<Delta>) {
        for delta in deltas {
            let Peer::Person(conversation) = &delta.conversation.peer else { continue };
            let readers = SEATS.with(|seats| seats.in_conversation(conversation));
            let Some(spoken) = Spoken::delta(&delta) else { continue };
            let frame = spoken.frame();
            join_all(readers.into_iter().map(|reader| send(reader, frame.clone()))).await;
        }
    }
}

/// Does what a person asked; the frame is the answer to their own terminal.
async fn act(connection: ConnectionId, seat: &Seat, heard: Heard) -> Frame {
    let submission = |text: &str| {
        Submission::text(Peer::Person(seat.conversation.clone()), seat.user.clone(), text).over(connection)
    };
    // The client's id makes a frame that is handed over twice one input.
    let said = |words: &Words| Submission { platform_id: words.platform_id(), ..submission(&words.text) };
    let (taken, words) = match heard {
        Heard::Say(words) => (inputs::submit(said(&words)).await, words),
        Heard::Interrupt(words) => (inputs::interrupt(said(&words)).await, words),
        Heard::Stop => {
            return match inputs::stop(submission("")).await {
                Ok(running) => Spoken::Stopped { running }.frame(),
                Err(error) => Spoken::error(&error.message()).frame(),
            };
        }
    };
    match taken {
        Ok(accepted) => {
            let others = SEATS.with(|seats| seats.in_conversation(&seat.conversation));
            let said = Spoken::Said { text: &words.text, by: &seat.user }.frame();
            let others = others.into_iter().filter(|other| *other != connection);
            join_all(others.map(|other| send(other, said.clone()))).await;
            Spoken::Accepted { input: &accepted.input, id: words.id.as_ref() }.frame()
        }
        Err(error) => Spoken::Error { text: &error.message(), id: words.id.as_ref() }.frame(),
    }
}

/// Sends a frame; false when the connection could not take it, which concerns nobody else.
async fn send(connection: ConnectionId, frame: Frame) -> bool {
    match sockets::send(connection, frame).await {
        Ok(()) => true,
        Err(error) => {
            log::warn(format!("connection {connection} was not reached: {}", error.message()));
            false
        }
    }
}

homeagent_sdk::export!(Cli: Channel, Sockets);

#[cfg(test)]
mod tests;
