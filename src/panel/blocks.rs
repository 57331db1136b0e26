//! Periods in blocks: the mean over so many neighbouring periods takes the place of each of them, before anything is
//! estimated.
//!
//! Blocks are counted from the intervention in both directions, so none holds periods from either side of it. What is
//! left over at the panel's beginning, fewer periods than a block has, is not used; the periods from the intervention
//! on have to be whole blocks, so that the mean over blocks is the mean over periods and the mean effect keeps its
//! meaning. The block's length is public, a choice made in the workload; a donor's means are a function of that donor's
//! row alone, clipped to the bounds first, so adjacency and all sensitivities stay as they are.

use super::PanelError;
use crate::privacy::Confidential;
use crate::schema::{PanelFrame, PanelSchema};
use crate::table::DonorRows;

/// How periods become blocks; a public question to the donors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Blocks {
    /// The periods of a block.
    length: usize,
    /// The first periods, which no block holds.
    skipped: usize,
    bounds: [f64; 2],
}

impl Blocks {
    /// The blocks of a panel, of so many periods each.
    ///
    /// # Errors
    /// Where the periods from the intervention on are no whole blocks, those before it fewer than two, or a season
    /// and a block do not fit.
    pub fn new(
        schema: &PanelSchema,
        frame: &PanelFrame,
        length: usize,
    ) -> Result<Blocks, PanelError> {
        let (before, after) = (frame.pre_periods, frame.post_periods());
        if after % length != 0 {
            let whole: Vec<String> = (1..=after)
                .filter(|length| after.is_multiple_of(*length))
                .map(|length| length.to_string())
                .collect();
            return Err(PanelError::Configuration(format!(
                "the {after} periods from the intervention on do not divide into blocks of {length}; take a `block` \
                 that divides them ({})",
                whole.join(", ")
            )));
        }
        if before / length < 2 {
            return Err(PanelError::Configuration(format!(
                "the {before} periods before the intervention hold fewer than two blocks of {length}, too few to tell \
                 how the target moves; take a shorter `block`"
            )));
        }
        season(schema.season, length)?;
        Ok(Blocks {
            length,
            skipped: before % length,
            bounds: schema.bounds,
        })
    }

    /// The means of a public series.
    fn means(&self, series: &[f64]) -> Vec<f64> {
        let blocks = series[self.skipped..].chunks(self.length);
        blocks.map(super::linear::mean).collect()
    }

    /// The public part of the panel in blocks, each named by its first and last period.
    pub fn frame(&self, frame: PanelFrame) -> PanelFrame {
        if self.length == 1 {
            return frame;
        }
        let name = |block: &[String]| match block {
            [first, .., last] => format!("{first} to {last}"),
            _ => block.concat(),
        };
        let periods = frame.periods[self.skipped..].chunks(self.length);
        let mut targets = frame.targets;
        for target in &mut targets {
            target.values = self.means(&target.values);
        }
        PanelFrame {
            periods: periods.map(name).collect(),
            pre_periods: frame.pre_periods / self.length,
            donors: frame.donors,
            targets,
        }
    }

    /// The donors' rows in blocks, which are as confidential as the rows.
    pub fn donors(&self, donors: &Confidential<DonorRows>) -> Confidential<DonorRows> {
        donors.ask(self, in_blocks)
    }
}

fn in_blocks(rows: &DonorRows, blocks: &Blocks) -> DonorRows {
    let [lower, upper] = blocks.bounds;
    let clipped =
        |row: &Vec<f64>| -> Vec<f64> { row.iter().map(|x| x.clamp(lower, upper)).collect() };
    rows.iter().map(|row| blocks.means(&clipped(row))).collect()
}

/// The number of blocks of a season: none where a block holds whole seasons.
///
/// # Errors
/// Where blocks cut through seasons.
pub fn season(periods: usize, length: usize) -> Result<usize, PanelError> {
    if length.is_multiple_of(periods) {
        return Ok(1);
    }
    match periods.is_multiple_of(length) {
        true => Ok(periods / length),
        false => Err(PanelError::Configuration(format!(
            "blocks of {length} periods cut through the season of {periods}; take a `block` that divides the season, or a \
             multiple of it"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panel::tests::panels::Panel;

    fn panel(pre: usize, periods: usize) -> Panel {
        let row = |from: usize| (from..from + periods).map(|t| t as f64).collect();
        Panel::new([0.0, 100.0], pre, row(0), vec![row(1), row(95)], "")
    }

    #[test]
    fn blocks_are_counted_from_the_intervention() {
        let panel = panel(7, 13);
        let blocks = Blocks::new(&panel.schema, &panel.frame, 3).unwrap();
        let frame = blocks.frame(panel.frame.clone());
        assert_eq!(frame.pre_periods, 2);
        assert_eq!(frame.periods, ["1 to 3", "4 to 6", "7 to 9", "10 to 12"]);
        assert_eq!(frame.targets[0].values, [2.0, 5.0, 8.0, 11.0]);
        assert!(frame.check().is_ok());
        // Values beyond the bounds are clipped before the mean is taken.
        let rows = in_blocks(&panel.rows, &blocks);
        assert_eq!(rows[0], [3.0, 6.0, 9.0, 12.0]);
        assert_eq!(rows[1], [97.0, (99.0 + 100.0 + 100.0) / 3.0, 100.0, 100.0]);
    }

    #[test]
    fn single_periods_are_left_alone() {
        let panel = panel(7, 13);
        let blocks = Blocks::new(&panel.schema, &panel.frame, 1).unwrap();
        assert_eq!(blocks.frame(panel.frame.clone()), panel.frame);
    }

    #[test]
    fn what_does_not_divide_is_refused_with_what_does() {
        let panel = panel(7, 13);
        let message = |length| {
            let refused = Blocks::new(&panel.schema, &panel.frame, length);
            refused.unwrap_err().to_string()
        };
        assert!(message(4).contains("(1, 2, 3, 6)"), "{}", message(4));
        assert!(message(6).contains("fewer than two blocks"));
        assert_eq!((season(1, 5).unwrap(), season(12, 3).unwrap()), (1, 4));
        assert_eq!((season(7, 14).unwrap(), season(7, 7).unwrap()), (1, 1));
        assert!(
            season(7, 3)
                .unwrap_err()
                .to_string()
                .contains("the season of 7")
        );
    }
}
