//! How every page is rendered: whatever comes from data is escaped, and a name that the page does not get is an error.

use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value};

/// Renders a template of a page.
///
/// # Errors
/// A template that cannot be read, or a name in it that `context` lacks.
pub fn render(template: &str, context: Value) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.add_template("page", template)?;
    environment.get_template("page")?.render(context)
}
