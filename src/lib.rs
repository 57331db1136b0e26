//! `dpcausal`: spend a privacy budget once, on the statistics that causal answers depend on, and get
//! from that one release synthetic microdata, multiple imputations and estimates with honest intervals.
//!
//! The rooms stand in the order in which data flow; each imports only from rooms above it.
//!
//! | room | what lives there |
//! |---|---|
//! | [`atomic`] | files that appear whole or not at all |
//! | [`schema`] | the public description of a table, and of the statistics one may ask of it |
//! | [`privacy`] | `Confidential<T>`, accounting, exact samplers, mechanisms, the ledger |
//! | [`table`] | reading, coding, counting and writing tables; the only room that names Polars |
//! | [`workload`] | workload files: mechanism, blocks, budget shares, adjacency |
//! | [`release`] | the release document |
//! | [`model`] | domain, factors, junction tree, belief propagation, calibration, sampling |
//! | [`measure`] | what to measure and when, one file per mechanism |
//! | [`impute`] | posterior draws of the moments, refits, imputed tables |
//! | [`estimate`] | estimators on tables and on models, combining rules |
//! | [`panel`] | synthetic control of a panel: methods, effects |
//! | [`cate`] | conditional average treatment effects: measuring, fit, effects |
//! | [`evaluate`] | the one room that compares with confidential data in the clear, for the agency's own staff; so it stands after everything that makes a release, and none of that can import it |
//! | [`report`] | text tables, JSON, pictures |
//! | [`cli`] | one file per subcommand: arguments and printing, no statistics |

pub mod atomic;
pub mod cate;
pub mod cli;
pub mod estimate;
pub mod evaluate;
pub mod impute;
pub mod measure;
pub mod model;
pub mod panel;
pub mod privacy;
pub mod release;
pub mod report;
pub mod schema;
pub mod table;
pub mod workload;
