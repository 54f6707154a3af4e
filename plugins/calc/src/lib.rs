//! Exact arithmetic: no digit is lost. Numbers have up to 1000 digits; those beyond a float's range come as text.

mod number;

use bigdecimal::BigDecimal;
use homeagent_sdk::{Arguments, Cause, Descriptor, Effect, Error, Plugin, Role, Tool, ToolOutput, Tools};
use schemars::JsonSchema;
use serde::Deserialize;

use number::{Written, check_length, shown};

const MOST_NUMBERS: usize = 1_000;

#[derive(Deserialize, JsonSchema)]
struct Several {
    /// The numbers, in any amount. Give either these, or `a` and `b`.
    numbers: Option<Vec<Written>>,
    /// The first of two numbers; beyond 1e300 as text, such as "1e400".
    a: Option<Written>,
    /// The second of two numbers; beyond 1e300 as text, such as "1e400".
    b: Option<Written>,
}

#[derive(Deserialize, JsonSchema)]
struct Two {
    /// The number on the left; beyond 1e300 as text, such as "1e400".
    a: Written,
    /// The number on the right; beyond 1e300 as text, such as "1e400".
    b: Written,
}

impl Several {
    fn read(self) -> Result<Vec<BigDecimal>, Error> {
        match (self.numbers.filter(|numbers| !numbers.is_empty()), self.a, self.b) {
            (Some(numbers), None, None) if numbers.len() > MOST_NUMBERS => Err(Error::invalid(format!(
                "argument `numbers`: {} numbers were given; {MOST_NUMBERS} are the most",
                numbers.len()
            ))),
            (Some(numbers), None, None) => {
                numbers.iter().enumerate().map(|(at, number)| number.read(&format!("numbers[{at}]"))).collect()
            }
            (None, Some(a), Some(b)) => Ok(vec![a.read("a")?, b.read("b")?]),
            (None, Some(_), None) => Err(Error::invalid("argument `b` is missing: `a` was given alone")),
            (None, None, Some(_)) => Err(Error::invalid("argument `a` is missing: `b` was given alone")),
            (None, None, None) => Err(Error::invalid("no number was given: give `numbers`, a list, or `a` and `b`")),
            (Some(_), ..) => Err(Error::invalid("give either `numbers` or `a` and `b`, not both")),
        }
    }
}

fn add(numbers: &[BigDecimal]) -> Result<String, Error> {
    shown(&numbers.iter().sum())
}

fn mul(numbers: &[BigDecimal]) -> Result<String, Error> {
    let mut product = BigDecimal::from(1);
    for number in numbers {
        product = (product * number).normalized();
        check_length(&product)?;
    }
    shown(&product)
}

fn compare(a: &BigDecimal, b: &BigDecimal) -> Result<String, Error> {
    let sign = match a.cmp(b) {
        std::cmp::Ordering::Less => "<",
        std::cmp::Ordering::Equal => "=",
        std::cmp::Ordering::Greater => ">",
    };
    Ok(format!("{} {sign} {}", shown(a)?, shown(b)?))
}

struct Calc;

impl Plugin for Calc {
    fn describe() -> Descriptor {
        let exact = |tool: Tool| tool.effect(Effect::Read).min_role(Role::Guest).stateless();
        Descriptor::new("calc", env!("CARGO_PKG_VERSION"))
            .summary("Exact arithmetic on numbers of up to 1000 digits.")
            .tool(exact(Tool::new::<Several>("add", "Adds numbers exactly. A negative number subtracts.")))
            .tool(exact(Tool::new::<Several>("mul", "Multiplies numbers exactly.")))
            .tool(exact(Tool::new::<Two>("compare", "Says which of two numbers is greater, such as `9.9 > 9.11`.")))
    }
}

impl Tools for Calc {
    async fn call(name: &str, arguments: Arguments, _cause: Cause) -> Result<ToolOutput, Error> {
        let answer = match name {
            "add" => add(&arguments.parse::<Several>()?.read()?)?,
            "mul" => mul(&arguments.parse::<Several>()?.read()?)?,
            "compare" => {
                let Two { a, b } = arguments.parse()?;
                compare(&a.read("a")?, &b.read("b")?)?
            }
            _ => return Err(Error::no_tool(name)),
        };
        Ok(ToolOutput::text(answer))
    }
}

homeagent_sdk::export!(Calc: Tools);

#[cfg(test)]
mod tests;
