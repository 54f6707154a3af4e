//! The modules that a script can import: `homeagent`, and the files beside it.

use std::rc::Rc;

use homeagent_sdk::script::Program;
use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::{Ctx, Error, Module, module::Declared};

/// The files of a script, by name.
#[derive(Clone)]
pub(crate) struct Files(Rc<Vec<(String, String)>>);

impl Files {
    pub(crate) fn new(program: &Program) -> Self {
        Self(Rc::new(program.files.iter().map(|file| (file.name.clone(), file.text.clone())).collect()))
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(file, _)| file == name).map(|(_, text)| text.as_str())
    }
}

impl Resolver for Files {
    fn resolve<'js>(
        &mut self,
        _: &Ctx<'js>,
        base: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<String> {
        let file = name.strip_prefix("./").unwrap_or(name);
        if file == "homeagent" || self.text(file).is_some() {
            return Ok(file.to_owned());
        }
        Err(Error::new_resolving_message(base, name, "there is no such file beside the script"))
    }
}

impl Loader for Files {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<Module<'js, Declared>> {
        let text = self.text(name).ok_or_else(|| Error::new_loading(name))?;
        Module::declare(ctx.clone(), name, text)
    }
}
