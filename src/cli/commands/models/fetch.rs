//! `assize models fetch`: a card's files from a hub.

use crate::cli::console::{Failure, Remarks};
use crate::error::ExitStatus;
use crate::models::{FetchError, fetch};
use crate::report::{Cell, Column, Table};
use std::cell::Cell as Shared;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often a download is heard of.
const EVERY: Duration = Duration::from_secs(2);

impl From<FetchError> for Failure {
    fn from(error: FetchError) -> Self {
        let status = match error {
            FetchError::NoHub { .. } => ExitStatus::Usage,
            FetchError::Hash { .. } | FetchError::NoSuchFile { .. } | FetchError::NothingToFetch { .. } | FetchError::Lock(_) => {
                ExitStatus::Verification
            }
            FetchError::Hub { .. } | FetchError::Place { .. } => ExitStatus::Internal,
        };
        Self::new(status, error)
    }
}

pub fn run(card: &str, model_dir: &Path, endpoint: &str, as_json: bool, remarks: Remarks) -> Result<ExitStatus, Failure> {
    let card = super::find(card)?;
    let said = Shared::new(Instant::now());
    let started = Shared::new((Instant::now(), 0));
    let heard = |name: &str, so_far: usize, total: usize| {
        if so_far == 0 || started.get().1 > so_far {
            started.set((Instant::now(), so_far));
        }
        if said.get().elapsed() < EVERY || total == 0 {
            return;
        }
        said.set(Instant::now());
        let (since, first) = started.get();
        let rate = (so_far - first) as f64 / since.elapsed().as_secs_f64().max(1e-3);
        let left = (total.saturating_sub(so_far)) as f64 / rate.max(1.0);
        remarks.say(format_args!("{name}: {:.1} of {:.1} MB, {left:.0} s left", so_far as f64 / 1e6, total as f64 / 1e6));
    };
    let model = fetch(&card, model_dir, endpoint, &heard)?;
    remarks.say(format_args!("{} at {} is in {}", model.repo, model.revision, model_dir.display()));
    let columns = vec![Column::text("file", "File"), Column::number("bytes", "Size").with_unit("bytes"), Column::text("sha256", "SHA-256")];
    let mut table = Table::new("fetched", "Files fetched", columns)?;
    for file in &model.files {
        table.push(vec![file.path.display().to_string().into(), Cell::count(file.bytes as usize), file.sha256.as_str().into()])?;
    }
    crate::cli::commands::print_table(&table, as_json)?;
    Ok(ExitStatus::Ok)
}
