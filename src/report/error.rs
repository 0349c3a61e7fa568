//! Errors of the report layer.
//!
//! Messages name tables, figures, sources and positions, never case text: they may reach a log.

/// What can go wrong while a table, a figure or a page is built.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A table was declared without any column.
    #[error("table {table:?}: expected at least one column, got none; hint: give Table::new its columns")]
    NoColumns {
        /// Table name.
        table: String,
    },

    /// Two columns of a table have the same key.
    #[error("table {table:?}: expected distinct column keys, got {key:?} twice; hint: keys are the CSV header")]
    DuplicateColumn {
        /// Table name.
        table: String,
        /// The repeated key.
        key: String,
    },

    /// A row does not have one cell per column.
    #[error("table {table:?} row {row}: expected {expected} cells, got {got}; hint: use Cell::Missing for a gap")]
    RowWidth {
        /// Table name.
        table: String,
        /// 1-based row number.
        row: usize,
        /// Number of columns.
        expected: usize,
        /// Number of cells in the row.
        got: usize,
    },

    /// A number that has to be finite is not.
    #[error("{place}: expected a finite number, got {value}; hint: an undefined value is a missing one")]
    NotFinite {
        /// Table cell, or figure and source.
        place: String,
        /// The offending value.
        value: f64,
    },

    /// A number lies outside the range that its figure can draw.
    #[error("{place}: expected a value from {low} to {high}, got {value}; hint: {hint}")]
    OutOfRange {
        /// Figure and source.
        place: String,
        /// The offending value.
        value: f64,
        /// Smallest value allowed.
        low: f64,
        /// Largest value allowed.
        high: f64,
        /// What the value should be.
        hint: &'static str,
    },

    /// A figure has nothing to draw.
    #[error("{figure}: expected at least one {item}, got none; hint: leave the figure out")]
    EmptyFigure {
        /// Name of the figure.
        figure: &'static str,
        /// What is missing.
        item: &'static str,
    },

    /// An interval has its ends the wrong way round.
    #[error("{figure}, source {name:?}: expected low <= high, got {low} and {high}; hint: pass (low, high)")]
    IntervalOrder {
        /// Name of the figure.
        figure: &'static str,
        /// The source whose interval it is.
        name: String,
        /// Lower end as passed.
        low: f64,
        /// Upper end as passed.
        high: f64,
    },

    /// A figure has more categories than it has colours.
    #[error("{figure}: expected at most {expected} categories, got {got}; hint: fold the rare ones into one")]
    TooManyCategories {
        /// Name of the figure.
        figure: &'static str,
        /// Number of colours.
        expected: usize,
        /// Number of categories.
        got: usize,
    },

    /// A figure has more series than it can tell apart.
    #[error("{figure}: expected at most {expected} series, got {got}; hint: draw several figures")]
    TooManySeries {
        /// Name of the figure.
        figure: &'static str,
        /// Number of series that can be told apart.
        expected: usize,
        /// Number of series.
        got: usize,
    },

    /// Two series of a figure have the same name.
    #[error("{figure}: expected distinct names of series, got {name:?} twice; hint: the legend tells them apart by name")]
    RepeatedSeries {
        /// Name of the figure.
        figure: &'static str,
        /// The repeated name.
        name: String,
    },

    /// The thresholds of a sweep do not rise.
    #[error("{figure}, source {name:?}: expected rising thresholds, got {after} after {before}; hint: sort the points")]
    ThresholdOrder {
        /// Name of the figure.
        figure: &'static str,
        /// The source whose points they are.
        name: String,
        /// The earlier threshold.
        before: f64,
        /// The threshold that is not above it.
        after: f64,
    },

    /// The cells of a map do not form the rectangle that its labels ask for.
    #[error("{figure}, {place}: expected {expected}, got {got}; hint: one cell for every row and column label")]
    MapShape {
        /// Name of the figure.
        figure: &'static str,
        /// What was counted: the rows, or the cells of one row.
        place: String,
        /// Number of labels.
        expected: usize,
        /// Number of rows or cells.
        got: usize,
    },

    /// A map has more rows or columns than its width can show.
    #[error("{figure}: expected at most {expected} {item}, got {got}; hint: keep the most frequent")]
    MapSize {
        /// Name of the figure.
        figure: &'static str,
        /// `rows` or `columns`.
        item: &'static str,
        /// Largest number that can be drawn.
        expected: usize,
        /// Number of labels.
        got: usize,
    },

    /// A drawing could not be turned into pixels.
    #[error("PNG of a figure: expected a picture, got {reason}; hint: write the SVG instead")]
    Png {
        /// What the rasteriser said.
        reason: String,
    },

    /// A bar does not have one value per category.
    #[error("{figure}, source {name:?}: expected {expected} values, got {got}; hint: one value for every category")]
    ValueCount {
        /// Name of the figure.
        figure: &'static str,
        /// The source whose bar it is.
        name: String,
        /// Number of categories.
        expected: usize,
        /// Number of values.
        got: usize,
    },

    /// Byte offsets do not delimit a part of the text.
    #[error(
        "text span: expected character boundaries with start <= end <= {len}, got {start} and {end}; \
         hint: offsets are bytes of the report text"
    )]
    ByteSpan {
        /// Start offset in bytes.
        start: usize,
        /// End offset in bytes.
        end: usize,
        /// Length of the text in bytes.
        len: usize,
    },

    /// A part of the page refers to something that the page does not have.
    #[error("{place}: expected {expected}, got {got}; hint: {hint}")]
    Reference {
        /// The referring part, for instance `game 3, finding 2`.
        place: String,
        /// What it may refer to.
        expected: String,
        /// What it refers to.
        got: String,
        /// How to repair it.
        hint: &'static str,
    },

    /// A table could not be written as CSV.
    #[error("table {table:?}: expected valid CSV, got a writer failure; hint: report this as a defect")]
    Csv {
        /// Table name.
        table: String,
        /// Cause.
        #[source]
        source: csv::Error,
    },

    /// Data could not be written as JSON.
    #[error("{place}: expected valid JSON, got a serialiser failure; hint: report this as a defect")]
    Json {
        /// Table name or page part.
        place: String,
        /// Cause.
        #[source]
        source: serde_json::Error,
    },

    /// The page template could not be rendered.
    #[error("page template: expected a rendered page, got a template failure; hint: report this as a defect")]
    Template {
        /// Cause.
        #[from]
        source: minijinja::Error,
    },
}
