//! `agreement`: see [`crate::measure::agreement`].

use serde_json::{Value, json};

use super::super::agreement::Agreement;
use super::input::{Fields, ends, equal_lengths, position, refused, unique};

pub(super) fn call(input: &Value) -> Result<Value, String> {
    let fields = Fields::new(input, &["rater1", "rater2", "categories"])?;
    let (first, second): (Vec<String>, Vec<String>) = (fields.list("rater1")?, fields.list("rater2")?);
    let categories: Vec<String> = fields.list("categories")?;
    unique(&categories, "categories")?;
    equal_lengths(("rater1", first.len()), ("rater2", second.len()))?;
    let index = |rater: &str, i: usize, name: &str| position(&categories, name, || format!("field {rater:?}[{i}]"), "categories");
    let pair = |(i, (x, y)): (usize, (&String, &String))| Ok((index("rater1", i, x)?, index("rater2", i, y)?));
    let ratings = first.iter().zip(&second).enumerate().map(pair).collect::<Result<Vec<_>, String>>()?;
    let agreement = Agreement::from_ratings(categories.len(), &ratings, 0.95).map_err(refused)?;
    Ok(json!({
        "n": agreement.n_items,
        "raw": agreement.raw,
        "kappa": agreement.kappa,
        "ac1": agreement.ac1,
        "pabak": agreement.pabak,
        "wilson": ends(agreement.raw_interval),
    }))
}
