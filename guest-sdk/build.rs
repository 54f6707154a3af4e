//! Computes how the arguments of the contract's exports lie in memory, for `lifting.rs`.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use wit_parser::abi::AbiVariant;
use wit_parser::{FunctionKind, Resolve, SizeAlign};

const CONTRACT: &str = "../wit/plugin";

fn main() {
    println!("cargo::rerun-if-changed={CONTRACT}");
    let mut resolve = Resolve::default();
    resolve.push_dir(CONTRACT).expect("the contract is valid WIT");
    let mut sizes = SizeAlign::default();
    sizes.fill(&resolve);
    let mut code = String::new();
    for (_, interface) in resolve.interfaces.iter() {
        let Some(name) = &interface.name else { continue };
        for function in interface.functions.values().filter(|function| function.kind == FunctionKind::AsyncFreestanding)
        {
            let signature = resolve.wasm_signature(AbiVariant::GuestExportAsync, function);
            let block = sizes.record(function.params.iter().map(|param| &param.ty));
            let block = match signature.indirect_params {
                true => format!("Some(({}, {}))", block.size.size_wasm32(), block.align.align_wasm32()),
                false => "None".to_owned(),
            };
            let name = format!("{name}-{}", function.name).replace('-', "_").to_uppercase();
            writeln!(code, "pub(crate) const {name}: Option<(usize, usize)> = {block};").expect("a String takes text");
        }
    }
    let out = Path::new(&env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join("arguments.rs");
    fs::write(out, code).expect("the build folder takes files");
}
