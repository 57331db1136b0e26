//! The study harness: populations, procedures, the runner, and what it writes.
//!
//! | file | what it does |
//! |---|---|
//! | [`source`] | reads data files |
//! | [`coding`] | codes values by a schema |
//! | [`population`] | units, the law of treatment and outcome, targets, a repetition's table |
//! | [`further`] | what else a release is asked, with the truths |
//! | [`subject`] | the kinds of cells: tables, panels, effects as functions of covariates |
//! | [`tables`] | one table's estimates against every target |
//! | [`panel`] | panels whose units take the treated one's part, and the methods |
//! | [`cate`] | populations with a known effect function, and the learners |
//! | [`datasets`] | the populations by name |
//! | [`procedures`] | private mechanisms and the non-private floor |
//! | [`fidelity`] | how far a synthetic table's marginals are from the data's |
//! | [`study`] | study files |
//! | [`run`] | runs a study in parallel |
//! | [`record`], [`log`] | the results file |
//! | [`statistics`] | a cell's RMSE, bias, coverage and width with their Monte Carlo errors |
//! | [`summary`], [`main_table`], [`fidelity_table`], [`placebo_table`], [`effects_table`], [`compare`] | tables for people |
//! | [`figures`], [`fidelity_figure`], [`plot`], [`scale`] | pictures |

pub mod calibration;
pub mod cate;
pub mod coding;
pub mod compare;
pub mod datasets;
pub mod effects_table;
pub mod fidelity;
pub mod fidelity_figure;
pub mod fidelity_table;
pub mod figures;
pub mod further;
pub mod log;
pub mod main_table;
pub mod panel;
pub mod placebo_table;
pub mod plot;
pub mod population;
pub mod procedures;
pub mod record;
pub mod run;
pub mod scale;
pub mod seeds;
pub mod source;
pub mod statistics;
pub mod study;
pub mod subject;
pub mod summary;
pub mod tables;
