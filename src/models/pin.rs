//! Completing a card that leaves its files open, from the files that somebody has.

use super::{CardError, ModelCard, ModelFile};
use std::path::Path;
use toml::{Table, Value};

/// What was measured on the files.
#[derive(Debug, Clone)]
pub struct Measured {
    /// In load order.
    pub files: Vec<ModelFile>,
    pub architecture: String,
    pub template_sha256: String,
    pub trained_context: u32,
}

/// The unpinned card `name` with what was measured, as TOML. A context that the card names stays where the model was trained with as
/// much.
///
/// # Errors
/// [`CardError`] when there is no such card, or it names its files already.
pub fn pin(name: &str, base: &Path, measured: &Measured) -> Result<Table, CardError> {
    let (text, path) = ModelCard::text_of(name, base)?;
    let invalid = |reason: String| CardError::Invalid { path: path.clone(), reason };
    let card = ModelCard::parse(&text, &path)?;
    if card.pinned {
        return Err(invalid(
            "expected a card with pinned = false, got one that names its files; compare with `models verify`".into(),
        ));
    }
    let mut table: Table = text.parse().map_err(|error: toml::de::Error| invalid(error.to_string()))?;
    table.remove("pinned");
    table.insert("architecture".into(), Value::String(measured.architecture.clone()));
    let context = card.context_tokens.map_or(measured.trained_context, |tokens| tokens.min(measured.trained_context));
    table.insert("context_tokens".into(), Value::Integer(context.into()));
    let files = measured.files.iter().map(|file| {
        Value::Table(Table::from_iter([
            ("path".to_string(), Value::String(file.path.display().to_string())),
            ("bytes".to_string(), Value::Integer(i64::try_from(file.bytes).unwrap_or(i64::MAX))),
            ("sha256".to_string(), Value::String(file.sha256.clone())),
        ]))
    });
    table.insert("file".into(), Value::Array(files.collect()));
    if let Value::Table(template) = table.entry("template").or_insert_with(|| Value::Table(Table::new())) {
        template.insert("sha256".into(), Value::String(measured.template_sha256.clone()));
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::{BUILTIN_CARDS, Marks};

    fn measured() -> Measured {
        let file = |n: u32| ModelFile { path: format!("m-{n:05}-of-00002.gguf").into(), bytes: 7, sha256: "a".repeat(64) };
        Measured {
            files: vec![file(1), file(2)],
            architecture: "gpt-oss".into(),
            template_sha256: "b".repeat(64),
            trained_context: 4096,
        }
    }

    #[test]
    fn every_open_card_becomes_a_complete_one() {
        let open: Vec<&str> =
            BUILTIN_CARDS.into_iter().filter(|(_, text)| text.contains("pinned = false")).map(|(n, _)| n).collect();
        assert_eq!(open.len(), 9);
        for name in open {
            let before = ModelCard::find(name, Path::new("")).expect("a card");
            assert!(before.require_pinned().is_err());
            let table = pin(name, Path::new(""), &measured()).expect("pinned");
            let after = ModelCard::parse(&table.to_string(), Path::new("x")).expect("a complete card");
            after.require_pinned().expect("complete");
            assert_eq!((after.files.len(), after.context_tokens), (2, Some(4096)), "{name}");
            assert_eq!(after.reasoning, before.reasoning, "{name}");
            let switches = |card: &ModelCard| card.template.clone().map(|template| template.switches).unwrap_or_default();
            assert_eq!(switches(&after), switches(&before), "{name}");
        }
        let harmony = ModelCard::find("gpt-oss-120b", Path::new("")).expect("a card");
        assert_eq!(harmony.reasoning.map(|reasoning| reasoning.marks), Some(Marks::Harmony));
    }

    #[test]
    fn a_card_that_names_its_files_is_refused() {
        let error = pin("smollm2-135m-instruct", Path::new(""), &measured()).expect_err("refused").to_string();
        assert!(error.contains("pinned = false") && error.contains("models verify"), "{error}");
    }

    #[test]
    fn an_open_card_states_no_files() {
        let text = "name = \"x\"\nkind = \"judge\"\narchitecture = \"llama\"\nlicence = \"-\"\nsource = \"-\"\npinned = false\n";
        let parse =
            |more: &str| ModelCard::parse(&format!("{text}{more}"), Path::new("x.toml")).map_err(|error| error.to_string());
        parse("").expect("open");
        for more in [
            "[template]\nsha256 = \"0\"\n".to_string(),
            format!("[[file]]\npath = \"a\"\nbytes = 1\nsha256 = \"{}\"\n", "a".repeat(64)),
            "[served]\nmodel = \"m\"\nrevision = \"1\"\n".to_string(),
        ] {
            assert!(parse(&more).expect_err("refused").contains("pinned"), "{more}");
        }
    }
}
