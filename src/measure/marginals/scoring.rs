//! The scores of a round: what the model expects of every candidate, against the counts.

use super::candidates::Candidate;
use super::counts::MarginalCounts;
use super::fit::Expected;
use super::gap::{GapCandidate, gaps, in_gap_units};
use crate::measure::MeasureError;
use crate::privacy::Confidential;

/// The cells of candidates that are scored at once: what the model expects of all candidates is never held together.
const CELLS_AT_ONCE: usize = 1 << 18;

/// The scores of a round.
pub struct Scored {
    /// The candidates, by their positions, in the order in which they were listed.
    pub listed: Vec<usize>,
    /// Their scores.
    pub scores: Confidential<Vec<i64>>,
    /// The heaviest weight of any of them: what their sensitivity is a multiple of.
    pub most_weight: i64,
}

/// Scores the listed candidates; `rule` gives the penalty, in units of gaps, and the weight of the candidate of a position with so
/// many cells. A marginal that is spread over so much of the model that it would take too long is left out, and so are the most
/// expensive ones beyond `most_work` multiplications together: no candidates in a round, which is decided by the model alone.
pub fn score(
    expected: &mut Expected,
    candidates: &[Candidate],
    listed: &[usize],
    counts: &Confidential<MarginalCounts>,
    rule: impl Fn(usize, usize) -> (i64, i64),
    most_work: f64,
) -> Result<Scored, MeasureError> {
    let limits = Limits {
        work: most_work,
        cells_at_once: CELLS_AT_ONCE,
    };
    score_in_batches(expected, candidates, listed, counts, rule, limits)
}

/// What scores may take.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Multiplications.
    pub work: f64,
    /// The cells that the model's answers are held of.
    pub cells_at_once: usize,
}

/// As [`score`].
pub(super) fn score_in_batches(
    expected: &mut Expected,
    candidates: &[Candidate],
    listed: &[usize],
    counts: &Confidential<MarginalCounts>,
    rule: impl Fn(usize, usize) -> (i64, i64),
    limits: Limits,
) -> Result<Scored, MeasureError> {
    // Positions among the listed ones, in the order in which they are worked out.
    let mut order: Vec<usize> = Vec::with_capacity(listed.len());
    let mut scores = Confidential::new(Vec::with_capacity(listed.len()));
    let mut batch: Vec<GapCandidate> = Vec::new();
    let (mut cells, mut most_weight) = (0, 1);
    let columns: Vec<&[usize]> = listed
        .iter()
        .map(|&at| candidates[at].columns.as_slice())
        .collect();
    expected.each(&columns, limits.work, &mut |position, records| {
        let marginal = listed[position];
        let (penalty, weight) = rule(marginal, records.len());
        cells += records.len();
        most_weight = weight.max(most_weight);
        order.push(position);
        batch.push(GapCandidate {
            marginal,
            expected: in_gap_units(records),
            penalty,
            weight,
        });
        if cells >= limits.cells_at_once {
            scores.append(counts.ask(batch.as_slice(), gaps));
            batch.clear();
            cells = 0;
        }
    })?;
    scores.append(counts.ask(batch.as_slice(), gaps));
    let mut places: Vec<usize> = (0..order.len()).collect();
    places.sort_by_key(|&place| order[place]);
    let in_order = |scores: &Vec<i64>, places: &Vec<usize>| -> Vec<i64> {
        places.iter().map(|&place| scores[place]).collect()
    };
    Ok(Scored {
        listed: places.iter().map(|&place| listed[order[place]]).collect(),
        scores: scores.ask(&places, in_order),
        most_weight,
    })
}
