//! Report: tables (text, CSV, JSON), figures (SVG, PNG) and one self-contained HTML file.
//!
//! This layer turns plain view structs into bytes. It knows nothing of pipelines, measures, stores or engines: whoever
//! has the numbers fills the views. Equal views give equal bytes; no clock, path, locale or environment is consulted.

pub mod error;
pub mod figure;
pub mod html;
pub mod page;
pub mod table;

pub use error::ReportError;
pub use figure::{
    ErrorCdfFigure, ErrorProfileFigure, LeaderboardFigure, LeaderboardScale, StageHistogramFigure, Svg, SweepFigure,
    TransitionMapFigure,
};
pub use page::GavelPage;
pub use table::{Align, Cell, Column, Table, from_spreadsheet, spreadsheet_text};
