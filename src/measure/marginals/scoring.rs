//! The scores of a round: what the model expects of every candidate, against the counts.

use super::candidates::Candidate;
use super::counts::MarginalCounts;
use super::fit::Expected;
use super::gap::{GapCandidate, gaps, in_gap_units};
use crate::measure::MeasureError;
use crate::model::ModelError;
use crate::privacy::Confidential;

/// The cells of candidates that are scored at once: what the model expects of all candidates is never held together.
const CELLS_AT_ONCE: usize = 1 << 18;

/// The scores of a round.
pub struct Scored {
    /// The candidates, by their positions.
    pub listed: Vec<usize>,
    /// Their scores.
    pub scores: Confidential<Vec<i64>>,
}

/// Scores the listed candidates; `rule` gives the penalty, in units of gaps, and the weight of the candidate of a position with so
/// many cells. A marginal that is spread over so much of the model that it would take too long is left out: no candidate
/// in a round, which is decided by the model alone.
pub fn score(
    expected: &mut Expected,
    candidates: &[Candidate],
    listed: &[usize],
    counts: &Confidential<MarginalCounts>,
    rule: impl Fn(usize, usize) -> (i64, i64),
) -> Result<Scored, MeasureError> {
    let mut scored = Scored {
        listed: Vec::with_capacity(listed.len()),
        scores: Confidential::new(Vec::with_capacity(listed.len())),
    };
    let mut batch: Vec<GapCandidate> = Vec::new();
    let mut cells = 0;
    for &marginal in listed {
        let records = match expected.of(&candidates[marginal].columns) {
            Ok(records) => records,
            Err(MeasureError::Model(ModelError::TooLarge { .. })) => continue,
            Err(error) => return Err(error),
        };
        let (penalty, weight) = rule(marginal, records.len());
        cells += records.len();
        scored.listed.push(marginal);
        batch.push(GapCandidate {
            marginal,
            expected: in_gap_units(&records),
            penalty,
            weight,
        });
        if cells >= CELLS_AT_ONCE {
            scored.scores.append(counts.ask(batch.as_slice(), gaps));
            batch.clear();
            cells = 0;
        }
    }
    scored.scores.append(counts.ask(batch.as_slice(), gaps));
    Ok(scored)
}
