//! The book that every reader keeps: each line goes into it exactly once.
//!
//! Here live the rules that do not depend on the format: what a rejected line means under the policy, that a
//! block of rows which repeats word for word counts once, and which kept rows are duplicates. This file must
//! not know how a line becomes a row.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::data::counts::{ReadCounts, RowFault};
use crate::data::event::{Event, EventTime, UidFields};
use crate::data::problem::Problem;

use super::time::TimeRules;
use super::{BadRowPolicy, ReadRules, ReadTimeline};

/// Rejected lines named one by one in a file before the rest is summed up.
const MAX_NAMED_LINES: usize = 20;
/// Line numbers shown as a sample.
const MAX_SAMPLES: usize = 5;
/// Smallest block that can count as repeated; a single row is at most a duplicate.
const MIN_BLOCK_ROWS: usize = 2;

/// A row that parses.
pub(super) struct Row {
    /// Line on which it starts, counted from one.
    pub(super) line: usize,
    /// The event text.
    pub(super) text: String,
    /// When it happened.
    pub(super) time: EventTime,
    /// The further fields of the UID schema.
    pub(super) uid: Option<UidFields>,
    /// What was noticed; added to the counts only when the row is kept.
    pub(super) marks: ReadCounts,
}

/// Where the lines of one file went so far.
pub(super) struct Ledger {
    path: PathBuf,
    rules: ReadRules,
    counts: ReadCounts,
    problems: Vec<Problem>,
    rejected: Vec<(usize, RowFault)>,
    prose: Vec<usize>,
    blocks: Vec<Vec<Row>>,
    block_open: bool,
}

impl Ledger {
    /// Returns an empty book on top of what decoding found.
    pub(super) fn new(path: &Path, rules: ReadRules, counts: ReadCounts, problems: Vec<Problem>) -> Self {
        Self {
            path: path.to_path_buf(),
            rules,
            counts,
            problems,
            rejected: Vec::new(),
            prose: Vec::new(),
            blocks: Vec::new(),
            block_open: false,
        }
    }

    /// How times of this file are read.
    pub(super) fn time_rules(&self) -> TimeRules {
        TimeRules { index_date: self.rules.index_date }
    }

    /// States a fault of the file as a whole: an error under any policy, since nothing in the file can be read for sure.
    pub(super) fn fault(&mut self, line: usize, what: String, remedy: &str) {
        self.problems.push(Problem::error(&self.path, Some(line), what, remedy));
    }

    /// States how many lines the file has, counted apart from what becomes of them.
    pub(super) fn lines(&mut self, n_lines: usize) {
        self.counts.lines_read = n_lines;
    }

    /// Notes that the file has no text; binary data was reported as an error before.
    pub(super) fn empty_file(&mut self) {
        if self.counts.empty_files > 0 {
            self.problems.push(Problem::warning(
                &self.path,
                None,
                "expected events, got an empty file",
                "write the timeline into the file, or allow empty timelines in the manifest",
            ));
        }
    }

    /// Books blank lines.
    pub(super) fn blank(&mut self, n_lines: usize) {
        self.counts.blank_lines += n_lines;
    }

    /// Books a line that names the columns.
    pub(super) fn header(&mut self) {
        self.counts.header_lines += 1;
        self.block_open = false;
    }

    /// Books a line that only wraps a table.
    pub(super) fn markup(&mut self) {
        self.counts.markup_lines += 1;
        self.block_open = false;
    }

    /// Books the further lines of a row that spans several.
    pub(super) fn continuation(&mut self, n_lines: usize) {
        self.counts.continuation_lines += n_lines;
    }

    /// Books a line of running text.
    pub(super) fn prose(&mut self, line: usize) {
        self.counts.prose_lines += 1;
        self.prose.push(line);
        self.block_open = false;
    }

    /// Books a line that looks like a row but is none.
    pub(super) fn reject(&mut self, line: usize, fault: RowFault) {
        self.counts.rows_read += 1;
        *self.counts.lines_rejected.entry(fault).or_default() += 1;
        self.rejected.push((line, fault));
    }

    /// Books a row; it joins the block of the rows before it unless a header, markup or prose came between.
    pub(super) fn row(&mut self, row: Row) {
        self.counts.rows_read += 1;
        if !self.block_open {
            self.blocks.push(Vec::new());
            self.block_open = true;
        }
        if let Some(block) = self.blocks.last_mut() {
            block.push(row);
        }
    }

    /// Closes the book: drops repeated blocks, counts the kept rows and states the problems.
    pub(super) fn finish(mut self) -> ReadTimeline {
        let kept = self.drop_repeated_blocks();
        let mut seen = HashSet::new();
        let mut events = Vec::with_capacity(kept.len());
        for row in kept {
            self.counts.rows_kept += 1;
            self.counts += &row.marks;
            if !seen.insert((row.text.clone(), row.time)) {
                self.counts.duplicate_rows += 1;
            }
            events.push(Event { text: row.text, time: row.time, line: row.line, uid: row.uid });
        }
        match self.rules.on_bad_row {
            BadRowPolicy::Refuse => self.refuse_bad_lines(),
            BadRowPolicy::Skip => self.sum_up_bad_lines(),
        }
        if events.is_empty() && self.counts.empty_files == 0 && self.counts.lines_read > 0 {
            self.problems.push(Problem::warning(
                &self.path,
                None,
                format!("expected events, got none in {} lines", self.counts.lines_read),
                "check the format that the manifest gives for this source",
            ));
        }
        if self.counts.context_unknown > 0 {
            self.problems.push(Problem::warning(
                &self.path,
                None,
                format!("expected context identifiers of this file, got {} that no row has", self.counts.context_unknown),
                "check that the file is complete",
            ));
        }
        ReadTimeline { events, counts: self.counts, problems: self.problems }
    }

    /// Returns the rows to keep, in file order, and counts the blocks that repeat an earlier one.
    fn drop_repeated_blocks(&mut self) -> Vec<Row> {
        let mut seen: HashSet<Vec<(String, EventTime)>> = HashSet::new();
        let mut kept = Vec::new();
        for block in std::mem::take(&mut self.blocks) {
            let key = block.iter().map(|row| (row.text.clone(), row.time)).collect();
            if block.len() >= MIN_BLOCK_ROWS && !seen.insert(key) {
                self.counts.repeated_blocks += 1;
                self.counts.rows_in_repeated_blocks += block.len();
                let line = block.first().map(|row| row.line);
                self.problems.push(Problem::warning(
                    &self.path,
                    line,
                    format!("the {} rows from here stand word for word earlier in the file", block.len()),
                    "nothing to do: the first copy counts, this one is left out",
                ));
            } else {
                kept.extend(block);
            }
        }
        kept
    }

    /// States every bad line as an error.
    fn refuse_bad_lines(&mut self) {
        for &(line, fault) in self.rejected.iter().take(MAX_NAMED_LINES) {
            let (what, remedy) = fault.explain();
            self.problems.push(Problem::error(&self.path, Some(line), what, remedy));
        }
        if let Some(rest) = self.rejected.get(MAX_NAMED_LINES..).filter(|rest| !rest.is_empty()) {
            self.problems.push(Problem::error(
                &self.path,
                rest.first().map(|&(line, _)| line),
                format!("{} more rejected lines from here on", rest.len()),
                "correct the file, or set on_bad_row = \"skip\" under [input]",
            ));
        }
        if let Some(&first) = self.prose.first() {
            self.problems.push(Problem::error(
                &self.path,
                Some(first),
                format!(
                    "expected rows of event and time, got {} lines of other text ({})",
                    self.prose.len(),
                    sample(self.prose.iter().copied()),
                ),
                "remove them, or set on_bad_row = \"skip\" under [input]",
            ));
        }
    }

    /// States the bad lines of the file in one warning each for rows and prose.
    fn sum_up_bad_lines(&mut self) {
        if let Some(&(first, _)) = self.rejected.first() {
            let reasons: Vec<String> =
                self.counts.lines_rejected.iter().map(|(fault, n)| format!("{} {n}", fault.name())).collect();
            self.problems.push(Problem::warning(
                &self.path,
                Some(first),
                format!(
                    "{} rejected lines ({}) left out: {}",
                    self.rejected.len(),
                    sample(self.rejected.iter().map(|&(line, _)| line)),
                    reasons.join(", "),
                ),
                "correct them if their events should count",
            ));
        }
        if let Some(&first) = self.prose.first() {
            self.problems.push(Problem::warning(
                &self.path,
                Some(first),
                format!("{} lines of running text ({}) left out", self.prose.len(), sample(self.prose.iter().copied()),),
                "nothing to do if this is raw model output",
            ));
        }
    }
}

/// Returns up to five line numbers as text.
fn sample(lines: impl ExactSizeIterator<Item = usize>) -> String {
    let n_lines = lines.len();
    let shown: Vec<String> = lines.take(MAX_SAMPLES).map(|line| line.to_string()).collect();
    let word = if n_lines == 1 { "line" } else { "lines" };
    let more = if n_lines > MAX_SAMPLES { ", .." } else { "" };
    format!("{word} {}{more}", shown.join(", "))
}
