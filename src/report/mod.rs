//! What people and programs see: text tables, JSON documents and pictures. Nothing here computes a
//! statistic.

mod axis;
mod cate_picture;
mod cate_text;
mod evaluation;
mod forest;
mod html;
mod json;
mod marks;
pub mod numbers;
mod panel_picture;
mod panel_text;
mod release_page;
pub mod svg;
mod table;
mod text;
mod words;

pub use cate_picture::cate_picture;
pub use cate_text::cate_text;
pub use evaluation::{evaluation_page, evaluation_text};
pub use forest::forest;
pub use json::{JsonError, document};
pub use panel_picture::panel_picture;
pub use panel_text::{PanelNames, panel_text};
pub use release_page::{ReleaseTerms, cate_page, panel_page};
pub use table::{Column, Style, Table};
pub use text::{effects_text, not_estimated_text};
pub use words::Outcome;
