//! Packages whose `plugin.toml` is not one, and folders full of them.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;

use super::{assert_answers, assert_reads, fifo};
use crate::daemon::Home;
use crate::vendor::Vendor;

const GOOD: &str = "[plugin]\nname = 'odd'\nversion = '1.0.0'\ncomponent = 'odd.wasm'\n";

/// More folders than anybody has plugins.
const MANY: usize = 2000;

struct Row {
    /// The folder's name too.
    name: &'static str,
    /// Makes `plugin.toml` at this path.
    make: fn(&Path),
    /// Parts of the reason for which the plugin is refused.
    reads: &'static [&'static str],
}

const ROWS: &[Row] = &[
    Row { name: "missing", make: |_| {}, reads: &["missing/plugin.toml", "can't be read", "No such file"] },
    Row { name: "empty", make: |path| write(path, ""), reads: &["missing field `plugin`"] },
    Row {
        name: "unknown-table",
        make: |path| write(path, &format!("{GOOD}[limit]\nmemory_mib = 3\n")),
        reads: &["unknown-table", "unknown key limit", "did you mean limits?"],
    },
    Row {
        name: "unknown-key",
        make: |path| write(path, &GOOD.replace("version", "versoin")),
        reads: &["[plugin] has the unknown key versoin", "did you mean version?"],
    },
    Row {
        name: "unknown-capability",
        make: |path| write(path, &format!("{GOOD}[wants.tolls]\n")),
        reads: &["[wants] has the unknown key tolls", "did you mean tools?"],
    },
    Row {
        name: "unknown-limit",
        make: |path| write(path, &format!("{GOOD}[limits]\nmemory_mb = 3\n")),
        reads: &["[limits] has the unknown key memory_mb", "did you mean memory_mib?"],
    },
    Row {
        name: "unknown-setting-key",
        make: |path| write(path, &format!("{GOOD}[settings.pace]\ntype = 'integer'\ndefualt = 3\n")),
        reads: &["[settings.pace] has the unknown key defualt", "did you mean default?"],
    },
    Row { name: "too-large", make: |path| write(path, &too_large()), reads: &["too-large", "more than 262144 bytes"] },
    Row {
        name: "wrong-type",
        make: |path| write(path, &GOOD.replace("'1.0.0'", "1")),
        reads: &["line 3", "version", "expected a string"],
    },
    Row {
        name: "wrong-kind",
        make: |path| write(path, &GOOD.replace("[plugin]", "[plugin]\nkind = 'chanel'")),
        reads: &["chanel", "`plugin`", "`adapter`"],
    },
    Row {
        name: "twice",
        make: |path| write(path, &format!("{GOOD}name = 'even'\n")),
        reads: &["line 5", "duplicate key"],
    },
    Row {
        name: "ten-thousand-settings",
        make: |path| write(path, &many("settings", 10_000)),
        reads: &["ten-thousand-settings", "10000 settings", "256 are the most"],
    },
    Row {
        name: "ten-thousand-wants",
        make: |path| write(path, &many("wants", 10_000)),
        reads: &["ten-thousand-wants", "[wants] has the unknown key k0"],
    },
    Row {
        name: "ten-megabytes",
        make: |path| write(path, &"# talk\n".repeat(1_500_000)),
        reads: &["more than 262144 bytes"],
    },
    Row {
        name: "nested-deep",
        make: |path| write(path, &format!("{GOOD}[settings]\na = {}", "[".repeat(100_000))),
        reads: &["max recursion depth"],
    },
    Row {
        name: "not-utf-8",
        make: |path| fs::write(path, b"[plugin]\nname = '\xff\xfe'\n").expect("the folder takes files"),
        reads: &["not-utf-8/plugin.toml", "UTF-8", "line 2"],
    },
    Row {
        name: "utf-16",
        make: |path| fs::write(path, b"\xff\xfe[\0p\0l\0u\0").expect("the folder takes files"),
        reads: &["utf-16/plugin.toml", "UTF-8"],
    },
    Row { name: "nul", make: |path| write(path, "[plugin]\nname = \"a\0b\"\n"), reads: &["line 2"] },
    Row {
        name: "a-folder",
        make: |path| fs::create_dir(path).expect("the folder takes folders"),
        reads: &["a-folder/plugin.toml", "it is not a file"],
    },
    Row { name: "a-fifo", make: fifo, reads: &["a-fifo/plugin.toml", "it is not a file"] },
    Row {
        name: "a-socket",
        make: |path| drop(UnixListener::bind(path).expect("the folder takes sockets")),
        reads: &["a-socket/plugin.toml", "it is not a file"],
    },
    Row {
        name: "a-loop",
        make: |path| symlink(path, path).expect("the folder takes links"),
        reads: &["a-loop/plugin.toml", "can't be read"],
    },
    Row {
        name: "a-device",
        make: |path| symlink("/dev/zero", path).expect("the folder takes links"),
        reads: &["a-device/plugin.toml", "it is not a file"],
    },
    Row {
        name: "component-fifo",
        make: |path| {
            write(path, &GOOD.replace("'odd'", "'component-fifo'"));
            fifo(&path.with_file_name("odd.wasm"));
        },
        reads: &["component-fifo/odd.wasm", "it is not a file"],
    },
    Row {
        name: "component-empty",
        make: |path| {
            write(path, &GOOD.replace("'odd'", "'component-empty'"));
            write(&path.with_file_name("odd.wasm"), "");
        },
        reads: &["component-empty is not a WebAssembly component", "wasm32-wasip2"],
    },
    Row {
        name: "component-elsewhere",
        make: |path| write(path, &GOOD.replace("odd.wasm", "../../api-token")),
        reads: &["../../api-token", "must be the name of a file beside plugin.toml"],
    },
];

fn write(path: &Path, text: &str) {
    fs::write(path, text).expect("the folder takes files");
}

fn many(table: &str, count: usize) -> String {
    (0..count).fold(format!("{GOOD}[{table}]\n"), |mut text, number| {
        writeln!(text, "k{number} = {{}}").expect("a string takes text");
        text
    })
}

/// More than is read of a manifest; what is read ends inside a character.
fn too_large() -> String {
    let mut text = format!("{GOOD}# ");
    while (256 * 1024 + 1 - text.len()).is_multiple_of("长".len()) {
        text.push(' ');
    }
    text + &"长".repeat(100_000)
}

#[tokio::test]
async fn a_package_that_is_none_is_listed_with_its_reason_and_keeps_nobody_from_starting() {
    let home = Arc::new(Home::new());
    for Row { name, make, .. } in ROWS {
        let folder = home.path().join("plugins").join(name);
        fs::create_dir_all(&folder).expect("the home takes folders");
        make(&folder.join("plugin.toml"));
    }
    home.install("counter-one", "good");
    let marked = home.install("upper", "marked");
    let manifest = fs::read_to_string(marked.join("plugin.toml")).expect("it is installed");
    write(&marked.join("plugin.toml"), &format!("\u{feff}{manifest}"));

    let vendor = Vendor::start().await;
    let daemon = home.start().await;
    daemon.use_vendor(&vendor).await;
    let plugins = daemon.plugins().await;
    for Row { name, reads, .. } in ROWS {
        // Under the folder's name, or the manifest's where that can be read.
        let listed = plugins.iter().find(|plugin| plugin["name"] == *name);
        let plugin = listed.unwrap_or_else(|| panic!("{name} is not listed in {plugins:?}"));
        let reason = plugin["reason"].as_str().unwrap_or_else(|| panic!("{name} has no reason: {plugin}"));
        assert_eq!(plugin["state"], "refused");
        assert_reads(name, reason, reads);
        assert!(reason.len() < 2000, "{name}: a reason of {} bytes", reason.len());
    }
    for good in ["counter", "upper"] {
        assert!(plugins.iter().any(|plugin| plugin["name"] == good && plugin["state"] == "live"), "{good} is live");
    }
    assert_answers("the start", &daemon, &vendor).await;
}

#[tokio::test]
async fn thousands_of_folders_are_listed_and_the_daemon_starts() {
    let home = Arc::new(Home::new());
    for number in 0..MANY {
        let folder = home.path().join(format!("plugins/p{number}"));
        fs::create_dir_all(&folder).expect("the home takes folders");
        write(&folder.join("plugin.toml"), &GOOD.replace("odd", &format!("p{number}")));
    }
    let vendor = Vendor::start().await;
    let daemon = home.start().await;
    daemon.use_vendor(&vendor).await;
    let plugins = daemon.plugins().await;
    let refused = plugins.iter().filter(|plugin| plugin["state"] == "refused").count();
    assert_eq!(refused, MANY, "each is listed");
    assert_answers("the start", &daemon, &vendor).await;
}
