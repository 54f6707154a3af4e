//! What models cost: the ledger, and the prices by which it is kept.

use axum::Json;
use axum::extract::State;
use homeagent_providers::cost::{CostReport, PriceList};
use homeagent_settings::{CostKey, CostSpan, PriceRecord};
use jiff::civil::Date;
use serde::Deserialize;

use crate::Problem;
use crate::core::{Core, Shared, on_disk};
use crate::document::{DiskFailures, Invalid, NotFound};
use crate::extract::{Asked, Document};

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    /// What the lines are by.
    #[serde(default = "by_day")]
    #[param(default = "day")]
    by: CostKey,
    /// The first day, as in `2026-12-01`.
    #[param(value_type = Option<String>, format = Date)]
    since: Option<Date>,
    /// The last day.
    #[param(value_type = Option<String>, format = Date)]
    until: Option<Date>,
    /// Only this turn.
    run: Option<String>,
}

fn by_day() -> CostKey {
    CostKey::Day
}

/// Tells what models cost.
///
/// Sums of money are texts, such as `0.0042`, and never of more than one currency. Calls that run are in it with what is
/// set aside for them.
#[utoipa::path(
    get,
    path = "/costs",
    operation_id = "getCosts",
    tag = "costs",
    params(Wanted),
    responses(
        (status = OK, body = CostReport, description = "What was spent"),
        DiskFailures,
    )
)]
pub(crate) async fn costs(
    State(core): State<Shared>,
    Asked(wanted): Asked<Wanted>,
) -> Result<Json<CostReport>, Problem> {
    let costs = core.parts.costs.clone();
    let Wanted { by, since, until, run } = wanted;
    on_disk(move || costs.report(by, &CostSpan { since, until, run })).await.map(Json)
}

/// Lists the prices.
#[utoipa::path(
    get,
    path = "/prices",
    operation_id = "listPrices",
    tag = "costs",
    responses(
        (status = OK, body = PriceList, description = "The prices, and what each source costs at this moment"),
    )
)]
pub(crate) async fn prices(State(core): State<Shared>) -> Json<PriceList> {
    Json(listed(&core))
}

fn listed(core: &Core) -> PriceList {
    core.parts.costs.price_list(&core.parts.sources.list())
}

/// Sets a price, in the place of the one for the same model, source and day.
#[utoipa::path(
    put,
    path = "/prices",
    operation_id = "setPrice",
    tag = "costs",
    request_body(content = PriceRecord),
    responses(
        (status = OK, body = PriceList, description = "The prices"),
        Invalid,
        DiskFailures,
    )
)]
pub(crate) async fn set(
    State(core): State<Shared>,
    Document(price): Document<PriceRecord>,
) -> Result<Json<PriceList>, Problem> {
    let costs = core.parts.costs.clone();
    on_disk(move || costs.set_price(&price)).await?;
    Ok(Json(listed(&core)))
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Which {
    /// The model, or the pattern, as the price has it.
    model: String,
    /// The source, where the price has one.
    source: Option<String>,
    /// Only the price from this day on; else all.
    #[param(value_type = Option<String>, format = Date)]
    valid_from: Option<Date>,
}

/// Takes prices that were set away. Those that come with the daemon hold again.
#[utoipa::path(
    delete,
    path = "/prices",
    operation_id = "removePrice",
    tag = "costs",
    params(Which),
    responses(
        (status = OK, body = PriceList, description = "The prices"),
        NotFound,
        DiskFailures,
    )
)]
pub(crate) async fn remove(State(core): State<Shared>, Asked(which): Asked<Which>) -> Result<Json<PriceList>, Problem> {
    let costs = core.parts.costs.clone();
    on_disk(move || costs.remove_price(&which.model, which.source.as_deref(), which.valid_from)).await?;
    Ok(Json(listed(&core)))
}
