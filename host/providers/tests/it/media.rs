//! What prompts show, as each source takes it in.

use homeagent_media::{Address, Store};
use homeagent_settings::{SourceLine, SourceRecord};
use homeagent_types::MediaKind;
use homeagent_types::model::{ContentPart, Message, ModelMedia, Prompt};
use homeagent_types::ports::{LineRequest, Models as _};

use crate::vendor::{Vendor, error, says};
use crate::world::{World, cause, hasty};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// The picture in Base64.
const BASE64: &str = "iVBORw0KGgoAAAANSUhEUg==";

async fn keep(store: &Store, bytes: &[u8]) -> ContentPart {
    let kept = store.put(bytes.to_vec(), "").await.expect("it is kept");
    ContentPart::medium(ModelMedia::stored(&kept.mime, Some("a".to_owned()), &kept.address.to_string()))
}

fn says_with(parts: Vec<ContentPart>) -> Vec<Message> {
    let text = ContentPart::Text("look".to_owned());
    vec![Message::User([vec![text], parts].concat())]
}

/// A source whose model takes in what is listed.
fn with(world: &World, name: &str, vendor: &Vendor, options: &[(&str, &str)]) -> SourceRecord {
    let mut source = world.source(name, "openai", &vendor.url);
    source.options.extend(options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    source
}

#[tokio::test]
async fn each_source_is_shown_what_it_takes_in_and_told_what_it_does_not() {
    let blind = Vendor::start(vec![error(500, "{}")]).await;
    let seeing = Vendor::start(vec![says("a cat")]).await;
    let world = World::new(hasty());
    world.sources.add(&with(&world, "blind", &blind, &[("media", "none")])).expect("added");
    world.sources.add(&with(&world, "seeing", &seeing, &[])).expect("added");
    let prompt = says_with(vec![keep(&world.media, PNG).await]);
    assert_eq!(world.ask_for(prompt).await.expect("it answers").source, "seeing");
    let told = &blind.requests()[0];
    assert!(told.contains("[image/png that this model can't take in]") && !told.contains(BASE64), "{told}");
    let shown = &seeing.requests()[0];
    assert!(shown.contains(&format!("data:image/png;base64,{BASE64}")), "{shown}");
}

#[tokio::test]
async fn what_is_gone_or_damaged_or_too_much_is_said_in_words() {
    let vendor = Vendor::start(vec![says("well")]).await;
    let world = World::new(hasty());
    world.sources.add(&with(&world, "a", &vendor, &[("media", "image,file"), ("media_mib", "5")])).expect("added");
    let damaged = keep(&world.media, b"damaged").await;
    let name = Address::of(b"damaged").to_string();
    let file = world.folder().join("media").join(&name[..2]).join(&name[2..]);
    std::fs::write(file, "another").expect("somebody writes there");
    let mut png = PNG.to_vec();
    png.resize(3 << 20, 0);
    let older = keep(&world.media, &png).await;
    png.push(0);
    let newer = keep(&world.media, &png).await;
    let gone = ContentPart::medium(ModelMedia::stored("image/png", None, &Address::of(b"gone").to_string()));
    world.ask_for(says_with(vec![damaged, gone, older, newer])).await.expect("it answers");
    let request = &vendor.requests()[0];
    for said in [
        "[text/plain that can't be shown: its file was damaged, and is removed]",
        "[image/png that can't be shown: it is not kept, or not any more]",
        "[image/png that is not shown: it would be too much for one request]",
    ] {
        assert!(request.contains(said), "{said} is missing");
    }
    assert_eq!(request.matches("data:image/png;base64,").count(), 1, "the newest is shown");
}

#[tokio::test]
async fn a_server_at_home_gets_a_link_where_that_is_wanted() {
    let vendor = Vendor::start(vec![says("a cat")]).await;
    let world = World::new(hasty());
    world.media.serve_at("127.0.0.1:8686".parse().expect("an address"));
    // What leads here from elsewhere need not lead here from the house.
    world.settings.set("core.media.public_url", "https://home.example").expect("an address");
    world.sources.add(&with(&world, "a", &vendor, &[("media_as", "link")])).expect("added");
    world.ask_for(says_with(vec![keep(&world.media, PNG).await])).await.expect("it answers");
    let request = &vendor.requests()[0];
    let link = format!("http://127.0.0.1:8686/media/{}?until=", Address::of(PNG));
    assert!(request.contains(&link) && !request.contains(BASE64), "{request}");
}

#[tokio::test]
async fn the_first_that_takes_it_in_is_asked_to_look() {
    let (blind, seeing) = (Vendor::start(vec![]).await, Vendor::start(vec![says("a cat")]).await);
    let world = World::new(hasty());
    world.sources.add(&with(&world, "blind", &blind, &[("images", "off"), ("audio", "off")])).expect("added");
    assert!(world.providers.sight().any.is_empty());
    let eyes = with(&world, "eyes", &seeing, &[("media", "images, video")]);
    world.sources.add(&SourceRecord { line: SourceLine::Auxiliary, ..eyes }).expect("added");
    let sight = world.providers.sight();
    assert!(sight.first.is_empty());
    assert_eq!(sight.any.into_iter().collect::<Vec<_>>(), [MediaKind::Image, MediaKind::Video]);
    let messages = says_with(vec![keep(&world.media, PNG).await]);
    let (prompt, cause) = (Prompt { messages, ..Prompt::default() }, cause());
    let request = LineRequest { line: SourceLine::Auxiliary, prompt: &prompt, cause: &cause };
    let answer = world.providers.look(request, MediaKind::Image, &world.watcher).await.expect("it answers");
    assert_eq!((answer.source.as_str(), answer.answer.text.as_str()), ("eyes", "a cat"));
    assert!(seeing.requests()[0].contains(BASE64) && blind.requests().is_empty());
    world.providers.look(request, MediaKind::Audio, &world.watcher).await.expect_err("nobody hears");
}

#[tokio::test]
async fn what_a_model_takes_in_is_known_by_its_name_and_its_adapter() {
    let (glm, seeing) = (Vendor::start(vec![]).await, Vendor::start(vec![says("a cat")]).await);
    let world = World::new(hasty());
    let blind = SourceRecord { model: "glm-4.7-flash".to_owned(), ..world.source("glm", "zhipu", &glm.url) };
    world.sources.add(&blind).expect("added");
    assert!(world.providers.sight().any.is_empty());
    let eyes = SourceRecord { line: SourceLine::Auxiliary, ..world.source("eyes", "openai", &seeing.url) };
    world.sources.add(&eyes).expect("added");
    let sight = world.providers.sight();
    assert!(sight.first.is_empty() && sight.any.contains(&MediaKind::Image), "{sight:?}");
    let messages = says_with(vec![keep(&world.media, PNG).await]);
    let (prompt, cause) = (Prompt { messages, ..Prompt::default() }, cause());
    let request = LineRequest { line: SourceLine::Auxiliary, prompt: &prompt, cause: &cause };
    let answer = world.providers.look(request, MediaKind::Image, &world.watcher).await.expect("it answers");
    assert_eq!(answer.source, "eyes");

    let reader = SourceRecord { line: SourceLine::Auxiliary, ..world.source("reader", "anthropic", &seeing.url) };
    assert!(!world.providers.sight().any.contains(&MediaKind::File));
    world.sources.add(&reader).expect("added");
    assert!(world.providers.sight().any.contains(&MediaKind::File), "it reads documents");
}

#[tokio::test]
async fn only_pictures_and_films_go_as_links() {
    let vendor = Vendor::start(vec![says("a song")]).await;
    let world = World::new(hasty());
    world.media.serve_at("127.0.0.1:8686".parse().expect("an address"));
    world.sources.add(&with(&world, "a", &vendor, &[("media_as", "link")])).expect("added");
    let sound = keep(&world.media, b"RIFF\x24\0\0\0WAVEfmt ").await;
    world.ask_for(says_with(vec![sound])).await.expect("it answers");
    let request = &vendor.requests()[0];
    assert!(request.contains("UklGRiQAAABXQVZFZm10IA==") && !request.contains("/media/"), "{request}");
}

#[tokio::test]
async fn a_server_at_home_fetches_nothing_that_the_daemon_could_not() {
    let vendor = Vendor::start(vec![says("well")]).await;
    let world = World::new(hasty());
    world.sources.add(&with(&world, "a", &vendor, &[])).expect("added");
    let url = Some("http://large.example/cat.png".to_owned());
    let medium = ModelMedia { mime: "image/png".to_owned(), name: None, data: Vec::new(), url };
    world.ask_for(says_with(vec![ContentPart::medium(medium)])).await.expect("it answers");
    let request = &vendor.requests()[0];
    assert!(request.contains("[image/png that can't be shown: it is not kept]"), "{request}");
    assert!(!request.contains("large.example"), "{request}");
}
