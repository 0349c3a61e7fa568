//! Numbers that the three papers print, recomputed from the papers' own tables.
//!
//! Every entry of the list of facts must be checked here, or the test fails. Whatever the library computes goes through
//! the library; the rest is arithmetic on the transcribed tables and is listed as such. Where a paper contradicts its
//! own tables, the recomputed value must be the known one and must differ from the printed one.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "paper_facts/craft.rs"]
mod craft;
#[path = "paper_facts/gavel.rs"]
mod gavel;
#[path = "paper_facts/ledger.rs"]
mod ledger;
#[path = "paper_facts/ratings.rs"]
mod ratings;
#[path = "paper_facts/study.rs"]
mod study;
#[path = "paper_facts/table.rs"]
mod table;
#[path = "paper_facts/uid.rs"]
mod uid;

use ledger::Ledger;

#[test]
fn every_printed_number_is_recomputed() {
    let mut ledger = Ledger::load(include_str!("golden/paper_facts.json"));
    gavel::check(&mut ledger);
    uid::check(&mut ledger);
    craft::check(&mut ledger);
    ledger.finish();
}
