//! The common parts of the HTML pages of `build --timings`, `expand --html` and `graph --format html`: each
//! is a single file that loads nothing, with the same head and the same colours, light and dark.

use minijinja::{Environment, UndefinedBehavior, Value, context};
use serde::Serialize;

use crate::error::{Error, Result};

/// Fills in a page. The template starts with `{{ head }}`, which opens the element `head` and sets the title.
///
/// # Errors
///
/// The template uses a value that is not among `values`.
pub fn page(title: &str, template: &str, values: Value) -> Result<String> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    // Names that end in `.html` turn on escaping.
    let head = environment
        .render_named_str("head.html", include_str!("head.html"), context! { title })
        .map_err(cannot)?;
    let values = context! {
        title,
        head => Value::from_safe_string(head),
        version => env!("CARGO_PKG_VERSION"),
        ..values
    };
    environment
        .render_named_str("page.html", template, values)
        .map_err(cannot)
}

/// Returns JSON for a `script` element. It contains no `<`, so nothing in it can end the element.
///
/// # Errors
///
/// The value cannot be represented in JSON.
pub fn json(value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string(value).map_err(cannot)?;
    Ok(text.replace('<', "\\u003c"))
}

fn cannot(error: impl std::fmt::Display) -> Error {
    Error::invalid(format!("cannot write the page: {error}"))
}
