//! What counts of a WIT package: names, types and functions as texts that can be compared, without comments and order of
//! declarations.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use wit_parser::{Function, Handle, Resolve, Type, TypeDef, TypeDefKind, TypeId, WorldItem, WorldKey};

/// Why a folder can't be compared.
#[derive(Debug, thiserror::Error)]
#[error("{path} is no WIT package: {reason}", path = path.display())]
pub struct ReadError {
    path: PathBuf,
    reason: String,
}

pub(crate) struct Shape {
    /// With its version.
    pub(crate) name: String,
    pub(crate) interfaces: BTreeMap<String, Interface>,
    pub(crate) worlds: BTreeMap<String, World>,
}

pub(crate) struct Interface {
    pub(crate) types: BTreeMap<String, Definition>,
    pub(crate) functions: BTreeMap<String, String>,
    /// Whether components export it.
    pub(crate) is_exported: bool,
}

pub(crate) struct Definition {
    /// `record`, `variant` and the like.
    pub(crate) kind: &'static str,
    /// Its fields, cases or flags in their order; one without a name where it has none.
    pub(crate) members: Vec<(String, String)>,
}

pub(crate) struct World {
    pub(crate) imports: BTreeSet<String>,
    pub(crate) exports: BTreeSet<String>,
}

impl Shape {
    pub(crate) fn read(folder: &Path) -> Result<Self, ReadError> {
        let mut resolve = Resolve::default();
        let failed = |reason: String| ReadError { path: folder.to_owned(), reason };
        let (package, _) = resolve.push_dir(folder).map_err(|error| failed(format!("{error:#}")))?;
        let package = &resolve.packages[package];
        let worlds: BTreeMap<String, World> =
            package.worlds.iter().map(|(name, id)| (name.clone(), World::of(&resolve, *id))).collect();
        let exported: BTreeSet<&String> = worlds.values().flat_map(|world| &world.exports).collect();
        let interfaces = package.interfaces.iter().map(|(name, id)| {
            let interface = &resolve.interfaces[*id];
            let types =
                interface.types.iter().map(|(name, id)| (name.clone(), definition(&resolve, &resolve.types[*id])));
            let functions = interface.functions.iter().map(|(name, it)| (name.clone(), function(&resolve, it)));
            let is_exported = exported.contains(name);
            (name.clone(), Interface { types: types.collect(), functions: functions.collect(), is_exported })
        });
        Ok(Self { name: package.name.to_string(), interfaces: interfaces.collect(), worlds })
    }
}

impl World {
    fn of(resolve: &Resolve, id: wit_parser::WorldId) -> Self {
        let world = &resolve.worlds[id];
        let name = |(key, item): (&WorldKey, &WorldItem)| match (key, item) {
            (WorldKey::Interface(id), _) => resolve.interfaces[*id].name.clone().unwrap_or_default(),
            (WorldKey::Name(name), WorldItem::Function(it)) => format!("{name}: {}", function(resolve, it)),
            (WorldKey::Name(name), _) => name.clone(),
        };
        Self { imports: world.imports.iter().map(name).collect(), exports: world.exports.iter().map(name).collect() }
    }
}

fn function(resolve: &Resolve, function: &Function) -> String {
    let params: Vec<String> =
        function.params.iter().map(|param| format!("{}: {}", param.name, reference(resolve, &param.ty))).collect();
    let result = function.result.as_ref().map(|result| format!(" -> {}", reference(resolve, result)));
    // The kind says whether it is asynchronous and whose method it is.
    let kind = if function.kind.is_async() { "async func" } else { "func" };
    format!("{kind}({}){}", params.join(", "), result.unwrap_or_default())
}

fn definition(resolve: &Resolve, ty: &TypeDef) -> Definition {
    let optional = |ty: &Option<Type>| ty.as_ref().map_or_else(String::new, |ty| reference(resolve, ty));
    let (kind, members) = match &ty.kind {
        TypeDefKind::Record(it) => {
            ("record", it.fields.iter().map(|field| (field.name.clone(), reference(resolve, &field.ty))).collect())
        }
        TypeDefKind::Variant(it) => {
            ("variant", it.cases.iter().map(|case| (case.name.clone(), optional(&case.ty))).collect())
        }
        TypeDefKind::Enum(it) => ("enum", it.cases.iter().map(|case| (case.name.clone(), String::new())).collect()),
        TypeDefKind::Flags(it) => ("flags", it.flags.iter().map(|flag| (flag.name.clone(), String::new())).collect()),
        TypeDefKind::Resource => ("resource", Vec::new()),
        other => ("type", vec![(String::new(), anonymous(resolve, other))]),
    };
    Definition { kind, members }
}

/// A type as it is written where it is used.
fn reference(resolve: &Resolve, ty: &Type) -> String {
    match ty {
        Type::Id(id) => named(resolve, *id),
        plain => format!("{plain:?}").to_lowercase(),
    }
}

fn named(resolve: &Resolve, id: TypeId) -> String {
    let ty = &resolve.types[id];
    match (&ty.name, &ty.kind) {
        // One that an interface takes from another is that of the other.
        (Some(_), TypeDefKind::Type(Type::Id(origin))) => named(resolve, *origin),
        (Some(name), _) => name.clone(),
        (None, kind) => anonymous(resolve, kind),
    }
}

fn anonymous(resolve: &Resolve, kind: &TypeDefKind) -> String {
    let of = |ty: &Type| reference(resolve, ty);
    let or_none = |ty: &Option<Type>| ty.as_ref().map_or_else(|| "_".to_owned(), of);
    match kind {
        TypeDefKind::Option(ty) => format!("option<{}>", of(ty)),
        TypeDefKind::List(ty) => format!("list<{}>", of(ty)),
        TypeDefKind::FixedLengthList(ty, length) => format!("list<{}, {length}>", of(ty)),
        TypeDefKind::Map(key, value) => format!("map<{}, {}>", of(key), of(value)),
        TypeDefKind::Tuple(it) => format!("tuple<{}>", it.types.iter().map(of).collect::<Vec<_>>().join(", ")),
        TypeDefKind::Result(it) => format!("result<{}, {}>", or_none(&it.ok), or_none(&it.err)),
        TypeDefKind::Future(ty) => format!("future<{}>", or_none(ty)),
        TypeDefKind::Stream(ty) => format!("stream<{}>", or_none(ty)),
        TypeDefKind::Handle(Handle::Own(id)) => format!("own<{}>", named(resolve, *id)),
        TypeDefKind::Handle(Handle::Borrow(id)) => format!("borrow<{}>", named(resolve, *id)),
        TypeDefKind::Type(ty) => of(ty),
        other => other.as_str().to_owned(),
    }
}
