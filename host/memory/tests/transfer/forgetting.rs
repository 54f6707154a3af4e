//! What is forgotten is in no byte of any file, and does not come back.

use homeagent_memory::curated::Curated;
use homeagent_types::Viewer;
use homeagent_types::memory::MemoryWhat;

use crate::world::{World, now, runtime};

fn text(text: &str) -> MemoryWhat {
    MemoryWhat::Text(text.to_owned())
}

async fn lived_in() -> World {
    let world = World::new().await;
    world.say("my dentist is called Brzezinski and hurts").await;
    let told = world.say("last summer BRZEZINSKI moved to Wroclaw with his parrot").await;
    world.say("the kettle is broken").await;
    world.prompt("my dentist is called Brzezinski").await;
    world.note("Teeth", "brzezinski, Tuesday at nine; bring the insurance card");
    world.note("Kettle", "buy another kettle");
    world.learn("Brzezinski", "Wroclaw", told);
    world.keep("never call Brzezinski before ten");
    world.keep("likes tea");
    world.save_window().await;
    world
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_is_in_no_byte_of_the_home_folder_and_does_not_come_back() {
    let world = lived_in().await;
    let before = world.holding("brzezinski");
    assert!(before.iter().any(|file| file.starts_with("context/")), "{before:?}");
    assert!(before.iter().any(|file| file.starts_with("documents/")), "{before:?}");
    assert!(before.iter().any(|file| file.starts_with("logs/")), "{before:?}");
    let dry = world.forget(text("Brzezinski"), true).await;
    assert_eq!(world.holding("brzezinski"), before, "a dry run changes nothing");
    assert_eq!((dry.events, dry.passages, dry.documents, dry.contexts), (3, 2, 1, 1), "{dry:?}");
    assert_eq!((dry.curated, dry.log_lines), (1, 2), "{dry:?}");
    // At least what was told outright: the distiller may have read the messages by now, too.
    assert!(dry.names >= 1 && dry.sentences >= 1, "{dry:?}");
    assert!(dry.samples.iter().any(|sample| sample.text.contains("hurts")), "{dry:?}");
    let done = world.forget(text("Brzezinski"), false).await;
    assert_eq!(done.left, Vec::<String>::new());
    assert_eq!(world.holding("brzezinski"), Vec::<String>::new());
    let world = world.rebuilt().await;
    assert_eq!(world.holding("brzezinski"), Vec::<String>::new());
    assert!(!world.holding("kettle").is_empty(), "the rest is there");
    let found = world.memory.find("dentist", Viewer::Everything, 5, Vec::new(), None, None).await.expect("looked");
    assert_eq!(found[0].passage.text, "my dentist is called [forgotten] and hurts");
    assert_eq!(Curated::open(&world.folder).lines(&Viewer::Everything).expect("read"), ["likes tea"]);
    assert!(world.memory.graph().named("Brzezinski", &Viewer::Everything).expect("read").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_said_in_a_stretch_of_time_goes_with_where_it_was_repeated() {
    let world = World::new().await;
    let first = world.say("the code of the safe is seven-seven-nine").await;
    let kept = now();
    world.prompt("the code of the safe is seven-seven-nine").await;
    world.note("Safe", "the code of the safe is seven-seven-nine");
    world.save_window().await;
    let at = world.journal.events_at(vec![first]).await.expect("read")[0].at_ms;
    assert!(at <= kept);
    let span = MemoryWhat::Time { from_ms: 0, to_ms: at, conversation: None };
    let done = world.forget(span, false).await;
    assert!(done.events >= 1, "{done:?}");
    assert_eq!(world.holding("seven-seven-nine"), Vec::<String>::new());
    world.say("good evening to all of you").await;
    let world = world.rebuilt().await;
    assert_eq!(world.holding("seven-seven-nine"), Vec::<String>::new());
    let found = world.memory.find("forgotten", Viewer::Everything, 5, Vec::new(), None, None).await.expect("looked");
    assert!(found.iter().all(|hit| hit.passage.origin != first.to_string()), "{found:?}");
    let said = world.memory.find("good evening", Viewer::Everything, 5, Vec::new(), None, None).await.expect("looked");
    assert_eq!(said.len(), 1, "what is said later is there");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_goes_with_its_file_and_where_its_text_stands() {
    let world = World::new().await;
    let id = world.note("Plan", "Operation Marigold begins on the ninth of May");
    world.say("I wrote: operation marigold begins on the ninth of may").await;
    world.say("the kettle is broken").await;
    let done = world.forget(MemoryWhat::Document(id.clone()), false).await;
    assert_eq!((done.documents, done.events), (1, 1), "{done:?}");
    assert_eq!(world.holding("marigold"), Vec::<String>::new());
    assert_eq!(world.holding(&format!("{id}.json")), Vec::<String>::new());
    assert!(!world.memory.context().documents().path(&id).exists());
    let world = world.rebuilt().await;
    assert_eq!(world.holding("marigold"), Vec::<String>::new());
    assert!(!world.holding("kettle").is_empty());
    let again = world.memory.forget(homeagent_types::memory::MemoryForget {
        what: MemoryWhat::Document("../homeagent".to_owned()),
        dry_run: false,
        plugins: false,
    });
    assert!(again.await.is_err(), "no path leads out of the folder");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entity_goes_under_all_its_names_and_a_person_with_all_that_they_said() {
    let world = lived_in().await;
    let done = world.forget(MemoryWhat::Entity("Brzezinski".to_owned()), false).await;
    assert!(done.names >= 1, "{done:?}");
    assert_eq!(world.holding("brzezinski"), Vec::<String>::new());
    let done = world.forget(MemoryWhat::Person("cli:me".to_owned()), false).await;
    assert!(done.events >= 4, "{done:?}");
    for said in ["hurts", "parrot", "kettle is broken", "insurance"] {
        assert_eq!(world.holding(said), Vec::<String>::new(), "{said}");
    }
    let world = world.rebuilt().await;
    assert_eq!(world.holding("parrot"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_the_record_is_written_with_is_refused() {
    let world = World::new().await;
    for refused in ["user", "e", "  ", "Assistant"] {
        let wish = homeagent_types::memory::MemoryForget { what: text(refused), dry_run: true, plugins: false };
        assert!(world.memory.forget(wish).await.is_err(), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_of_talk_goes_with_the_whole_turns_that_are_in_it() {
    let world = World::new().await;
    let run = world.turn("the parrot is called Zygmunt and bites", "Zygmunt is noted").await;
    world.turn("the kettle is broken", "then buy another").await;
    let id = world.archive(&run).await;
    let done = world.forget(MemoryWhat::Document(id), false).await;
    assert_eq!((done.documents, done.left), (1, Vec::new()));
    assert_eq!(world.holding("zygmunt"), Vec::<String>::new());
    let world = world.rebuilt().await;
    assert_eq!(world.holding("zygmunt"), Vec::<String>::new());
    assert!(!world.holding("kettle").is_empty());
}

#[test]
fn what_a_death_cut_at_any_step_is_done_at_the_next_start() {
    let (mut cuts, mut at) = (0, 1);
    loop {
        // What is at work on a thread ends with the runtime, as it ends with a process.
        let (is_done, is_noted, kept) = runtime().block_on(async {
            let mut world = lived_in().await;
            let is_done = world.forget_until(text("Brzezinski"), at).await;
            world.memory.close().await;
            (is_done, world.plans() > 0, world.kept.take())
        });
        let kept = kept.expect("it was made for this");
        runtime().block_on(async {
            let world = World::open(kept.path()).await;
            world.memory.close().await;
            if is_noted || is_done {
                assert_eq!(world.holding("brzezinski"), Vec::<String>::new(), "cut at {at}");
                assert!(!world.holding("kettle").is_empty());
            }
        });
        cuts += usize::from(is_noted && !is_done);
        if is_done {
            break;
        }
        at += 1;
    }
    assert!(cuts >= 5, "it was cut in the middle {cuts} times");
}
