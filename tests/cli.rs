//! The program as a user runs it: the real binary on study folders, without any model.
//!
//! Every test has a temporary folder of its own and judges only what a user can see: exit code, standard output, standard error
//! and files. Nothing here names a module of the library.

#[cfg(test)]
#[path = "cli/program.rs"]
mod program;
#[cfg(test)]
#[path = "cli/sheet.rs"]
mod sheet;
#[cfg(test)]
#[path = "cli/study.rs"]
mod study;

#[cfg(test)]
#[path = "cli/audits.rs"]
mod audits;
#[cfg(test)]
#[path = "cli/evaluations.rs"]
mod evaluations;
#[cfg(test)]
#[path = "cli/exchange.rs"]
mod exchange;
#[cfg(test)]
#[path = "cli/full_disk.rs"]
mod full_disk;
#[cfg(test)]
#[path = "cli/input.rs"]
mod input;
#[cfg(test)]
#[path = "cli/measures.rs"]
mod measures;
#[cfg(test)]
#[path = "cli/model_files.rs"]
mod model_files;
#[cfg(test)]
#[path = "cli/plan.rs"]
mod plan;
#[cfg(test)]
#[path = "cli/real_files.rs"]
mod real_files;
#[cfg(test)]
#[path = "cli/results.rs"]
mod results;
#[cfg(test)]
#[path = "cli/reviews.rs"]
mod reviews;
#[cfg(test)]
#[path = "cli/stages.rs"]
mod stages;
#[cfg(test)]
#[path = "cli/store_damage.rs"]
mod store_damage;
#[cfg(test)]
#[path = "cli/usage.rs"]
mod usage;
