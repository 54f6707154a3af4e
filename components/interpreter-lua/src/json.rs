//! JSON and Lua values.

use luars::{GlobalState, LuaError, LuaState, LuaValue};
use serde_json::{Map, Number, Value};

/// Tables that may stand inside each other; a table that contains itself is deeper.
const DEEPEST: usize = 64;

/// What stands for `null` where a script has to say it: `homeagent.null`.
pub(crate) fn null() -> LuaValue {
    LuaValue::lightuserdata(std::ptr::null_mut())
}

/// Where Lua values are made: the state as a whole, or as a function called by a script sees it. Nothing is collected
/// while only values are made.
pub(crate) trait Heap {
    fn string(&mut self, text: &str) -> Result<LuaValue, LuaError>;
    fn table(&mut self, positions: usize, names: usize) -> Result<LuaValue, LuaError>;
    fn set(&mut self, table: &LuaValue, key: LuaValue, value: LuaValue);
}

macro_rules! heap {
    ($state:ty) => {
        impl Heap for $state {
            fn string(&mut self, text: &str) -> Result<LuaValue, LuaError> {
                self.create_string(text)
            }

            fn table(&mut self, positions: usize, names: usize) -> Result<LuaValue, LuaError> {
                self.create_table(positions, names)
            }

            fn set(&mut self, table: &LuaValue, key: LuaValue, value: LuaValue) {
                self.raw_set(table, key, value);
            }
        }
    };
}

heap!(GlobalState);
heap!(LuaState);

/// `null` becomes nil, so a field that is null is as if it were not there; in a list it is [`null`], since a list with a
/// gap is none. The host makes no JSON that is deep enough to
/// matter here.
pub(crate) fn to_lua(heap: &mut impl Heap, value: &Value) -> Result<LuaValue, LuaError> {
    Ok(match value {
        Value::Null => LuaValue::nil(),
        Value::Bool(it) => LuaValue::boolean(*it),
        Value::Number(it) => match it.as_i64() {
            Some(integer) => LuaValue::integer(integer),
            None => LuaValue::float(it.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(it) => heap.string(it)?,
        Value::Array(values) => {
            let table = heap.table(values.len(), 0)?;
            for (at, value) in (1..).zip(values) {
                let value = if value.is_null() { null() } else { to_lua(heap, value)? };
                heap.set(&table, LuaValue::integer(at), value);
            }
            table
        }
        Value::Object(fields) => {
            let table = heap.table(0, fields.len())?;
            for (key, value) in fields {
                let key = heap.string(key)?;
                let value = to_lua(heap, value)?;
                heap.set(&table, key, value);
            }
            table
        }
    })
}

/// A table with the positions 1 to n becomes a list, one with names an object. An empty one is an object, unless
/// `homeagent.list` made it a list.
pub(crate) fn from_lua(value: &LuaValue) -> Result<Value, String> {
    read(value, DEEPEST)
}

fn read(value: &LuaValue, deeper: usize) -> Result<Value, String> {
    if value.is_nil() || value.is_lightuserdata() {
        return Ok(Value::Null);
    }
    if let Some(it) = value.as_bool().filter(|_| value.is_boolean()) {
        return Ok(Value::Bool(it));
    }
    if let Some(integer) = value.as_integer_strict() {
        return Ok(Value::from(integer));
    }
    if value.is_number() {
        let number = value.as_number().and_then(Number::from_f64);
        return number.map(Value::Number).ok_or_else(|| "there is no JSON for a number that is not finite".to_owned());
    }
    if let Some(bytes) = value.as_bytes().filter(|_| value.is_string()) {
        let text = str::from_utf8(bytes).map_err(|_| "there is no JSON for a text that is not UTF-8".to_owned())?;
        return Ok(Value::from(text));
    }
    match value.as_table() {
        Some(_) if deeper == 0 => {
            Err("there is no JSON for tables that are so deep, or that contain themselves".into())
        }
        Some(table) => read_table(table, deeper - 1),
        None => Err(format!("there is no JSON for a {}", value.type_name())),
    }
}

fn read_table(table: &luars::LuaRawTable, deeper: usize) -> Result<Value, String> {
    let entries = table.iter_all();
    // `homeagent.list` gives its tables a metatable, and nothing else that becomes JSON has one.
    if entries.is_empty() {
        return Ok(if table.has_metatable() { Value::Array(Vec::new()) } else { Value::Object(Map::new()) });
    }
    if entries.iter().any(|(key, _)| key.is_number()) {
        let mut places = vec![Value::Null; entries.len()];
        for (key, value) in &entries {
            let at = key.as_integer_strict().and_then(|at| usize::try_from(at - 1).ok());
            let place = at.and_then(|at| places.get_mut(at));
            let place = place.ok_or("there is no JSON for a table with gaps, or with both positions and names")?;
            *place = read(value, deeper)?;
        }
        return Ok(Value::Array(places));
    }
    let mut fields = Map::new();
    for (key, value) in &entries {
        let name = key.as_str().filter(|_| key.is_string());
        let name = name.ok_or_else(|| format!("there is no JSON for a table with a {} as a key", key.type_name()))?;
        fields.insert(name.to_owned(), read(value, deeper).map_err(|reason| format!("{reason} (in `{name}`)"))?);
    }
    Ok(Value::Object(fields))
}
