//! A shared library in the host's own process: nothing between the two.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use libloading::{Library, Symbol};
use tempfile::TempDir;

use crate::{Contestant, Plugin};

const SOURCE: &str = "#include <stddef.h>\n#include <string.h>\n\
     size_t echo(const char *text, size_t length, char *out) { memcpy(out, text, length); return length; }\n";

type Echo = unsafe extern "C" fn(*const u8, usize, *mut u8) -> usize;

/// The folder with the libraries, compiled by the C compiler.
pub struct Libraries {
    folder: TempDir,
}

/// One library.
pub struct Native {
    library: Option<Library>,
}

impl Libraries {
    fn path(&self, number: usize) -> PathBuf {
        self.folder.path().join(format!("echo-{number}.so"))
    }

    fn open(&self, number: usize) -> Library {
        // SAFETY: the library was made here and has no initialisers.
        unsafe { Library::new(self.path(number)) }.expect("it loads")
    }
}

impl Contestant for Libraries {
    type Plugin = Native;

    const NAME: &'static str = "shared library";

    fn prepare(plugins: usize) -> Self {
        let folder = TempDir::new().expect("a folder");
        let source = folder.path().join("echo.c");
        fs::write(&source, SOURCE).expect("the folder takes files");
        let all = Self { folder };
        let made = Command::new("cc").args(["-O2", "-shared", "-fPIC", "-o"]).arg(all.path(0)).arg(source).status();
        assert!(made.expect("there is a C compiler").success());
        for number in 1..plugins {
            fs::copy(all.path(0), all.path(number)).expect("the folder takes files");
        }
        all
    }

    fn load(&self, number: usize) -> Native {
        let mut plugin = Native { library: Some(self.open(number)) };
        assert_eq!(plugin.call("ready"), "ready");
        plugin
    }

    fn replace(&self, number: usize, plugin: &mut Native) {
        // Closed first: the system would hand out what is open under this name.
        drop(plugin.library.take());
        plugin.library = Some(self.open(number));
        assert_eq!(plugin.call("ready"), "ready");
    }
}

impl Plugin for Native {
    fn call(&mut self, text: &str) -> String {
        let library = self.library.as_ref().expect("it is open between two calls");
        let mut out = vec![0; text.len()];
        // SAFETY: the function has this signature, reads `text` and writes as many bytes.
        let written = unsafe {
            let echo: Symbol<'_, Echo> = library.get(b"echo\0").expect("it has the function");
            echo(text.as_ptr(), text.len(), out.as_mut_ptr())
        };
        out.truncate(written);
        String::from_utf8(out).expect("it is what was given")
    }
}
