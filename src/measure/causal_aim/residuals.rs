//! What a model leaves unexplained of each record's treatment and outcome.

use super::hub::roles;
use crate::measure::MeasureError;
use crate::measure::marginals::fit::Fit;
use crate::model::FullConditional;
use crate::schema::SCALE;
use crate::table::CodedTable;

/// The units of residuals and scores: one record is so many. Fine enough that rounding is far below the noise of any
/// choice.
pub const UNIT: i64 = 1 << 10;

/// The residuals of a record under a model: a function of the record and of released answers.
#[derive(Debug, Clone)]
pub struct Residuals {
    /// The column of the treatment.
    treatment: usize,
    /// The column of each of the model's variables.
    columns: Vec<usize>,
    /// The law of treatment and outcome given the covariates: a sum of tables over the cliques that hold them.
    law: FullConditional,
    /// The outcome of each cell of its grid, on `[0, 1]`.
    outcomes: Vec<f64>,
    /// `B`; of an outcome with two levels, none.
    bound: Option<f64>,
}

/// Of arm `t` against the reference: the residuals of treatment and outcome, each in `-UNIT..=UNIT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Residual {
    /// Of the treatment.
    pub treatment: i64,
    /// Of the outcome.
    pub outcome: i64,
}

/// Room for one record.
#[derive(Debug, Clone)]
pub struct Workspace {
    law: Vec<f64>,
    /// By arm: its probability, and its mean outcome.
    arms: Vec<[f64; 2]>,
}

impl Residuals {
    /// The residuals under a fitted model; `bound` is `B`, positive, of a numeric outcome, and `None` of one with two levels.
    ///
    /// # Errors
    /// Those of the model.
    pub fn new(fit: &Fit, bound: Option<f64>) -> Result<Residuals, MeasureError> {
        let (treatment, outcome) = roles(fit)?;
        let variables = fit.variables();
        Ok(Residuals {
            treatment: variables.columns[treatment],
            columns: variables.columns.clone(),
            law: FullConditional::new(fit.model(), &[treatment, outcome])?,
            outcomes: variables.grid.cells.iter().map(|c| c.mean).collect(),
            bound,
        })
    }

    /// The number of arms.
    pub fn arms(&self) -> usize {
        self.law.cells() / self.outcomes.len()
    }

    /// Room for one record.
    pub fn workspace(&self) -> Workspace {
        Workspace {
            law: vec![0.0; self.law.cells()],
            arms: vec![[0.0; 2]; self.arms()],
        }
    }

    /// The residuals of a row, arm 1 against the reference first, each within `[-UNIT, UNIT]` whatever the row: the
    /// sensitivity rests on it. A contrast without the row's arm leaves it out.
    ///
    /// # Panics
    /// If the table is not of the schema.
    pub fn of(&self, table: &CodedTable, row: usize, room: &mut Workspace, out: &mut [Residual]) {
        out.fill(Residual::default());
        let code = |column: usize| table.codes[column].as_ref().expect("a coded column")[row];
        let law = self
            .law
            .probabilities(|v| code(self.columns[v]), &mut room.law);
        // Structural zeros may rule a row out: it then says nothing.
        if !law.expect("codes are those of the schema") {
            return;
        }
        let arms = room.law.chunks_exact(self.outcomes.len());
        for (arm, cells) in room.arms.iter_mut().zip(arms) {
            let mass: f64 = cells.iter().sum();
            let total: f64 = cells.iter().zip(&self.outcomes).map(|(p, y)| p * y).sum();
            *arm = [mass, total / mass];
        }
        let own = usize::from(code(self.treatment));
        let outcome = f64::from(table.outcome[row]) / SCALE as f64;
        let mean = room.arms[own][1];
        let scale = self.bound.unwrap_or_else(|| reach(mean));
        let unexplained = units((outcome - mean) / scale);
        for (contrast, residual) in out.iter_mut().enumerate() {
            let arm = contrast + 1;
            if own == 0 || own == arm {
                let [reference, treated] = [room.arms[0][0], room.arms[arm][0]];
                let is_treated = f64::from(u8::from(own == arm));
                let share = treated / (reference + treated);
                residual.treatment = units((is_treated - share) / reach(share));
                residual.outcome = unexplained;
            }
        }
    }
}

/// How far a variable that is 0 or 1 can be from its mean: what its residual is divided by, so that the whole of `-1..=1` is used.
pub fn reach(mean: f64) -> f64 {
    mean.max(1.0 - mean)
}

/// A residual in whole units, clipped to 1; what is no number (an arm that the model rules out) is 0.
fn units(residual: f64) -> i64 {
    // A float beyond the range, or none, is cast to its end, or to 0.
    ((residual.clamp(-1.0, 1.0)) * UNIT as f64).round() as i64
}
