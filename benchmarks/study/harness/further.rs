//! Further questions to a population: what else one release is asked, with the true answers.
//!
//! With a unit's effect `tau` (the difference of its conditional means) the truth is `sum w tau / sum w`; the
//! weight `w` is the unit's probability of treatment for the effect on the treated, and whether it belongs to the
//! subgroup for a subgroup's average effect.

use super::population::{Assignment, Law, Outcomes, Population, Question, Target};
use anyhow::{Context, Result, ensure};
use dpcausal::estimate::{Estimand, Group, subgroups};

/// The word for the effect on the treated.
const TREATED: &str = "att";

impl Population {
    /// Has every law know the answers to further questions: `att`, or a covariate whose levels are subgroups.
    ///
    /// # Errors
    /// A name that is neither; a population that knows one outcome per unit, so that effects of parts are unknown.
    pub fn ask(&mut self, further: &[String]) -> Result<()> {
        for name in further {
            let found = self.further(name);
            let found = found.with_context(|| format!("further question {name:?}"))?;
            for (law, targets) in self.laws.iter_mut().zip(found) {
                law.targets.extend(targets);
            }
        }
        Ok(())
    }

    /// The targets under each law.
    fn further(&self, name: &str) -> Result<Vec<Vec<Target>>> {
        let knows_effects =
            |law: &Law| !matches!(&law.outcomes, Outcomes::Recorded([a, b]) if a == b);
        ensure!(
            self.laws.iter().all(knows_effects),
            "the population knows one outcome per unit"
        );
        if name == TREATED {
            let treated = |law: &Law| {
                let effect = weighted_effect(law, self.size(), |unit| law.assignment.weight(unit));
                vec![Target::of_everyone(Estimand::Att, name, effect)]
            };
            return Ok(self.laws.iter().map(treated).collect());
        }
        let groups = subgroups(&self.schema, &[name.to_owned()], None)?;
        let target = |law: &Law| {
            let of_group = |&group: &Group| {
                let codes = self.units.table.codes[group.column].as_ref();
                let codes = codes.context("a covariate that is not coded")?;
                let belongs = |unit: usize| f64::from(u8::from(codes[unit] == group.code));
                Ok(Target {
                    name: format!("{name}={}", group.code),
                    question: Question {
                        estimand: Estimand::Ate,
                        group: Some(group),
                    },
                    value: weighted_effect(law, self.size(), belongs),
                })
            };
            groups.iter().map(of_group).collect()
        };
        self.laws.iter().map(target).collect()
    }
}

impl Assignment {
    /// A unit's probability of treatment.
    fn weight(&self, unit: usize) -> f64 {
        match self {
            Assignment::Propensity(propensity) => propensity[unit],
            Assignment::Recorded(arms) => f64::from(arms[unit]),
        }
    }
}

fn weighted_effect(law: &Law, units: usize, weight: impl Fn(usize) -> f64) -> f64 {
    let (sum, total) = (0..units).fold((0.0, 0.0), |(sum, total), unit| {
        let w = weight(unit);
        (sum + w * law.outcomes.effect(unit), total + w)
    });
    sum / total
}

#[cfg(test)]
mod tests {
    use super::super::datasets;
    use super::*;
    use std::path::Path;

    /// Effects of a subgroup's levels, weighted by their sizes, are the effect on everyone; the effect on the
    /// treated is what one finds among units that were assigned treatment (within 4.5 standard errors; a false
    /// alarm in 150,000).
    #[test]
    fn parts_make_the_whole() {
        let mut population = datasets::load("simulated-normal-30", Path::new("")).unwrap();
        population.ask(&["b1".into(), "att".into()]).unwrap();
        let law = &population.laws[0];
        let names: Vec<&str> = law.targets.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names[0], "population");
        assert!(names[1] == "b1=0" && names[3] == "att");
        let column = law.targets[1].question.group.unwrap().column;
        let codes = population.units.table.codes[column].as_ref().unwrap();
        let share = codes.iter().filter(|&&code| code == 1).count() as f64 / codes.len() as f64;
        let whole = (1.0 - share) * law.targets[1].value + share * law.targets[2].value;
        assert!((whole - law.targets[0].value).abs() < 1e-9);
        let mut random = super::super::seeds::generator(3);
        let treated: Vec<f64> = (0..population.size())
            .filter(|&unit| law.assignment.draw(unit, &mut random) == 1)
            .map(|unit| law.outcomes.effect(unit))
            .collect();
        let n = treated.len() as f64;
        let mean = treated.iter().sum::<f64>() / n;
        let variance = treated.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / n;
        assert!((mean - law.targets[3].value).abs() < 4.5 * (variance / n).sqrt());
        // The units' effects vary, so that the comparison says something.
        assert!((law.targets[3].value - law.targets[0].value).abs() > 4.5 * (variance / n).sqrt());
    }

    #[test]
    fn what_is_unknown_is_refused() {
        let mut population = datasets::load("simulated-normal-30", Path::new("")).unwrap();
        assert!(population.ask(&["nothing".into()]).is_err());
        let same = vec![0.0; population.size()];
        population.laws[0].outcomes = Outcomes::Recorded([same.clone(), same]);
        assert!(population.ask(&["att".into()]).is_err());
    }
}
