//! The covariates that the ACS studies adjust for, by the number of their scores.

use super::super::coding::Cells;
use super::super::source::DataFile;
use anyhow::Result;

/// What stands in the file and what is made of it.
enum Made {
    /// The number as it stands.
    Number,
    /// Whether the text is one of these.
    OneOf(&'static [&'static str]),
    /// Whether the text is none of these.
    NoneOf(&'static [&'static str]),
    /// The position of the text among these.
    Level(&'static [&'static str]),
    /// The interval that holds the number: the count of these edges at or below it.
    Interval(&'static [f64]),
}

/// A covariate: its name in the schema, the file's column, and how it is made.
struct Score(&'static str, &'static str, Made);

/// In the order in which forms of more scores take them up. The first form (5 scores: the square of
/// age is one) holds what confounds; those after the tenth confound by nothing but their correlation
/// with the first ten, as most of what an agency's table holds.
const SCORES: [Score; 39] = [
    Score("age", "age", Made::Number),
    Score("schl", "schl", Made::Number),
    Score("married", "marital", Made::OneOf(&["married"])),
    Score("nonwhite", "race", Made::NoneOf(&["white"])),
    Score("female", "sex", Made::OneOf(&["female"])),
    Score(
        "government",
        "workclass",
        Made::OneOf(&["federal_gov", "local_gov", "state_gov"]),
    ),
    Score("foreign_born", "foreign_born", Made::OneOf(&["1"])),
    Score(
        "english",
        "english",
        Made::Level(&[
            "only_english",
            "very_well",
            "well",
            "not_well",
            "not_at_all",
        ]),
    ),
    Score(
        "commute",
        "commute_min",
        Made::Interval(&[1.0, 10.0, 20.0, 30.0, 45.0, 60.0]),
    ),
    Score(
        "self_employed",
        "workclass",
        Made::OneOf(&["self_inc", "self_not_inc"]),
    ),
    Score("divorced", "marital", Made::OneOf(&["divorced"])),
    Score("served", "military", Made::OneOf(&["past", "active"])),
    Score("moved", "moved", Made::NoneOf(&["same_house"])),
    Score("insured_directly", "ins_direct", Made::OneOf(&["1"])),
    Score("manager", "occ_group", Made::OneOf(&["mgr"])),
    Score("office", "occ_group", Made::OneOf(&["off"])),
    Score("sales", "occ_group", Made::OneOf(&["sal"])),
    Score("south", "region", Made::OneOf(&["south"])),
    Score("naturalized", "citizenship", Made::OneOf(&["naturalized"])),
    Score("hearing", "dis_hearing", Made::OneOf(&["1"])),
    Score("vision", "dis_vision", Made::OneOf(&["1"])),
    Score("cognition", "dis_cognitive", Made::OneOf(&["1"])),
    Score("walking", "dis_ambulatory", Made::OneOf(&["1"])),
    Score("self_care", "dis_selfcare", Made::OneOf(&["1"])),
    Score("independence", "dis_indep", Made::OneOf(&["1"])),
    Score("teaching", "occ_group", Made::OneOf(&["edu"])),
    Score("medicine", "occ_group", Made::OneOf(&["med"])),
    Score("transport", "occ_group", Made::OneOf(&["trn"])),
    Score("production", "occ_group", Made::OneOf(&["prd"])),
    Score("computing", "occ_group", Made::OneOf(&["cms"])),
    Score("cleaning", "occ_group", Made::OneOf(&["cln"])),
    Score("food", "occ_group", Made::OneOf(&["eat"])),
    Score("construction", "occ_group", Made::OneOf(&["con"])),
    Score("engineering", "occ_group", Made::OneOf(&["eng"])),
    Score("northeast", "region", Made::OneOf(&["northeast"])),
    Score("west", "region", Made::OneOf(&["west"])),
    Score("midwest", "region", Made::OneOf(&["midwest"])),
    Score("walks", "commute_mode", Made::OneOf(&["walked"])),
    Score("bus", "commute_mode", Made::OneOf(&["bus"])),
];

/// The covariates of the form with so many scores, the square of age among them.
pub fn names(scores: usize) -> Vec<&'static str> {
    SCORES
        .iter()
        .take(scores.saturating_sub(1))
        .map(|score| score.0)
        .collect()
}

/// The cells of a covariate of the file.
pub fn cells(name: &str, file: &DataFile) -> Result<Cells> {
    let found = SCORES.iter().find(|score| score.0 == name);
    let Some(Score(_, column, made)) = found else {
        anyhow::bail!("the ACS studies have no covariate {name:?}");
    };
    let codes = |code: &dyn Fn(&str) -> Option<u16>| file.column(column, code).map(Cells::Codes);
    match made {
        Made::Number => file.numbers(column).map(Cells::Numbers),
        Made::OneOf(texts) => codes(&|cell| Some(u16::from(texts.contains(&cell)))),
        Made::NoneOf(texts) => codes(&|cell| Some(u16::from(!texts.contains(&cell)))),
        Made::Level(levels) => codes(&|cell| {
            let level = levels.iter().position(|level| *level == cell)?;
            Some(level as u16)
        }),
        Made::Interval(edges) => codes(&|cell| {
            let value: f64 = cell.parse().ok()?;
            Some(edges.iter().filter(|&&edge| edge <= value).count() as u16)
        }),
    }
}
