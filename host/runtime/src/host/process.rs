//! `process`: the programs that were granted.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use homeagent_types::CallError;
use tokio_util::task::AbortOnDropHandle;
use wasmtime::component::Accessor;

use super::Call;
use crate::bindings::{process, types};
use crate::files::{Root, SCRATCH, places_written_by};
use crate::instance::{HostData, InstanceState};
use crate::process::{Ending, Mark, Order, Outcome, ProcessLimits, check_program};
use crate::slot::core::SlotCore;
use crate::wants::Want as _;
use crate::wants::files::FilesWant;
use crate::wants::process::ProcessWant;

const MOST_ARGUMENTS: usize = 256;
/// All arguments together, in bytes.
const LARGEST_ARGUMENTS: usize = 128 << 10;
/// In bytes.
const LARGEST_INPUT: usize = 1 << 20;

/// One of the places that a plugin has for programs.
struct Place(Arc<SlotCore>);

impl Place {
    fn take(slot: &Arc<SlotCore>, most: u64) -> Result<Self, CallError> {
        let more = |running| (running < most).then_some(running + 1);
        let taken = slot.programs.fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        taken.map(|_| Self(Arc::clone(slot))).map_err(|_| CallError::Busy)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.programs.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A run whose right has been checked.
struct Run {
    call: Call,
    want: ProcessWant,
    /// The folders of the owner's that the plugin has.
    files: FilesWant,
    command: process::Command,
    place: Place,
}

impl Run {
    fn new<T>(accessor: &Accessor<T, HostData>, command: process::Command) -> Result<Self, CallError> {
        let attempt = attempt(&command);
        let mut granted = None;
        let call = Call::new(accessor, |state| {
            let want: ProcessWant = state.granted(&attempt)?;
            let asked = || state.slot.grants.asked::<ProcessWant>();
            if !want.programs.contains(&command.program)
                && asked().is_some_and(|asked| asked.programs.contains(&command.program))
            {
                return Err(state.slot.denial(ProcessWant::CAPABILITY, &*attempt));
            }
            check(&want, &command).map_err(|error| state.slot.refused(&attempt, error))?;
            let files = match command.folder.as_deref() {
                None | Some(SCRATCH) => state.granted("using files").unwrap_or_default(),
                Some(_) => state.granted(&format!("{attempt} in one of its folders"))?,
            };
            let place = Place::take(&state.slot, state.services.number("core.plugin.processes", 4))?;
            granted = Some((want, files, place));
            Ok(())
        })?;
        let (want, files, place) = granted.ok_or(CallError::NotLive)?;
        Ok(Self { call, want, files, command, place })
    }

    async fn run(self) -> Result<Outcome, CallError> {
        let Self { call: Call { slot, services }, want, files, command, place } = self;
        let attempt = attempt(&command);
        let most = Duration::from_secs(services.number("core.plugin.process_seconds", 60));
        let limits = ProcessLimits {
            memory: services.number("core.plugin.process_memory_mib", 4096) << 20,
            file: services.number("core.plugin.file_mib", 1024) << 20,
            time: command.timeout_ms.map_or(most, Duration::from_millis).min(most),
        };
        let (home, plugin, program) = (services.local.home.clone(), slot.grants.keeps_under(), command.program.clone());
        let prepare = move || {
            check_program(&program, &home, &places_written_by(&files))?;
            let root = match command.folder.as_deref().filter(|folder| *folder != SCRATCH) {
                None => Root::own(&home, &plugin)?,
                Some(folder) => {
                    let known = files.folders.get(folder);
                    let known =
                        known.ok_or_else(|| CallError::NotFound(format!("the plugin has no folder {folder:?}")))?;
                    Root::granted(&home, folder, known)?
                }
            };
            Ok(Order {
                program,
                arguments: command.arguments,
                environment: want.environment,
                folder: root.into_dir(),
                input: command.input,
                limits,
                mark: Mark::new(&home)?,
            })
        };
        let ready = slot.disk.run(&services.local.host, 0, prepare).await;
        let order = ready.map_err(|error| slot.refused(&attempt, error))?;
        // Where the guest is gone, so is this handle, and the program with it.
        let running = AbortOnDropHandle::new(services.local.host.spawn(async move {
            let _place = place;
            order.run().await
        }));
        let done = running.await.unwrap_or_else(|lost| Err(CallError::Other(format!("the run broke off: {lost}"))));
        if let Ok(Outcome { ending: Ending::Timeout, .. }) = &done {
            slot.tell_owner(&format!("{attempt} took longer than {:?} and was ended", limits.time));
        }
        if let Ok(Outcome { ending: Ending::Overflow, .. }) = &done {
            slot.tell_owner(&format!("{attempt} wrote more than 1 MiB and was ended"));
        }
        done
    }
}

fn attempt(command: &process::Command) -> String {
    let program: String = command.program.escape_debug().take(200).collect();
    format!("running {program}")
}

fn check(want: &ProcessWant, command: &process::Command) -> Result<(), CallError> {
    if !want.programs.contains(&command.program) {
        let known = want.programs.join(", ");
        return Err(CallError::Conflict(format!("it is none of the programs that [wants.process] lists: {known}")));
    }
    let size: usize = command.arguments.iter().map(String::len).sum();
    let refusal = if command.arguments.len() > MOST_ARGUMENTS || size > LARGEST_ARGUMENTS {
        format!("there are at most {MOST_ARGUMENTS} arguments of {LARGEST_ARGUMENTS} bytes together")
    } else if command.arguments.iter().any(|argument| argument.contains('\0')) {
        "an argument has a zero in it".to_owned()
    } else if command.input.len() > LARGEST_INPUT {
        format!("the input has at most {LARGEST_INPUT} bytes")
    } else {
        return Ok(());
    };
    Err(CallError::Invalid(refusal))
}

impl<T: Send + 'static> process::HostWithStore<T> for HostData {
    async fn run(accessor: &Accessor<T, Self>, command: process::Command) -> Result<process::Outcome, types::Error> {
        let Outcome { ending, output, errors } = Run::new(accessor, command)?.run().await?;
        let ending = match ending {
            Ending::Exited(code) => process::Ending::Exited(code),
            Ending::Killed(signal) => process::Ending::Killed(signal),
            Ending::Timeout => process::Ending::Timeout,
            Ending::Overflow => process::Ending::Overflow,
        };
        Ok(process::Outcome { ending, output, errors, meta: Vec::new() })
    }
}

impl process::Host for &mut InstanceState {}
