//! A model of those who share a level: `p(x | x_v = l)`, exactly.
//!
//! Conditioning multiplies the joint probability by the indicator of `x_v = l`, a factor of one variable.
//! It can be put into any clique that holds `v`, so the conditional law lives on the same junction tree:
//! its potentials are the model's own conditionals `p(clique | separator)`, with cells of other levels
//! set to zero in one clique, and one propagation gives its marginals. Its normalising constant is
//! `P(x_v = l)`.

use super::{Model, ModelError};
use std::sync::Arc;

impl Model {
    /// The model given that a variable has a level, on the same variables, of `P(variable = level)` times
    /// the records; `None` where the level is impossible.
    ///
    /// # Errors
    /// If the variable does not exist, or has no such level.
    pub fn given(&self, variable: usize, level: u16) -> Result<Option<Model>, ModelError> {
        let domain = self.domain();
        domain.check(&[variable], "a condition")?;
        let (level, levels) = (usize::from(level), domain.sizes()[variable]);
        if level >= levels {
            return Err(ModelError::Code {
                index: variable,
                code: level,
                levels,
            });
        }
        let propagation = &self.structure().propagation;
        let mut workspace = propagation.workspace();
        for (clique, cells) in workspace.cells.iter_mut().enumerate() {
            for (cell, p) in cells.iter_mut().zip(self.clique_conditional(clique)) {
                *cell = p.ln();
            }
        }
        let cliques = self.junction_tree().cliques();
        // Every variable stands in a clique; without one there would be nothing to condition.
        let Some(clique) = cliques.iter().position(|c| c.contains(&variable)) else {
            return Ok(None);
        };
        let after = cliques[clique].iter().skip_while(|&&v| v != variable);
        let stride: usize = after.skip(1).map(|&v| domain.sizes()[v]).product();
        for (index, cell) in workspace.cells[clique].iter_mut().enumerate() {
            if index / stride % levels != level {
                *cell = f64::NEG_INFINITY;
            }
        }
        let log_probability = propagation.collect(&mut workspace);
        if log_probability == f64::NEG_INFINITY {
            return Ok(None);
        }
        let conditionals = propagation.conditionals(&workspace);
        propagation.distribute(&mut workspace);
        Ok(Some(Model::new(
            Arc::clone(self.structure()),
            conditionals,
            workspace.cells,
            self.total() * log_probability.exp(),
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Calibrator;
    use super::super::Settings;
    use super::super::testing::{Joint, close, codes, index, random_problem};

    /// Every level of every variable of 60 random models, every marginal of the conditional model, against
    /// the joint table.
    #[test]
    fn conditional_models_match_enumeration() {
        let mut impossible = 0;
        for seed in 0..60 {
            let problem = random_problem(seed);
            let calibrator = Calibrator::new(problem.clone()).unwrap();
            let fit = calibrator
                .calibrate(&calibrator.targets(), &Settings::default(), &mut |_, _| {})
                .unwrap();
            let joint = Joint::new(&problem, &fit.parameters);
            let domain = &problem.domain;
            let count = domain.variables();
            for variable in 0..count {
                for level in 0..domain.sizes()[variable] {
                    let inside = |cell: usize| codes(domain, cell)[variable] == level;
                    let mass: f64 = (joint.probabilities.iter().enumerate())
                        .map(|(cell, p)| if inside(cell) { *p } else { 0.0 })
                        .sum();
                    let Some(given) = fit.model.given(variable, level as u16).unwrap() else {
                        assert_eq!(mass, 0.0, "{seed} {variable} {level}");
                        impossible += 1;
                        continue;
                    };
                    let share = given.total() / fit.model.total();
                    assert!((share - mass).abs() < 1e-11, "{seed} {share} {mass}");
                    for mask in 0..1usize << count {
                        let set: Vec<usize> = (0..count).filter(|v| mask >> v & 1 == 1).collect();
                        let mut expected = vec![0.0; domain.cells(&set) as usize];
                        for (cell, p) in joint.probabilities.iter().enumerate() {
                            if inside(cell) {
                                expected[index(domain, &set, &codes(domain, cell))] += p / mass;
                            }
                        }
                        let found = given.marginal(&set).unwrap().values_in_order(&set);
                        assert!(close(&found, &expected, 1e-9), "{seed} {variable} {set:?}");
                    }
                }
            }
        }
        eprintln!("{impossible} impossible levels");
    }

    #[test]
    fn a_level_that_is_not_there_is_an_error() {
        let problem = random_problem(1);
        let model = Calibrator::new(problem).unwrap().reference_model();
        let levels = model.domain().sizes()[0] as u16;
        assert!(model.given(0, levels).is_err());
        assert!(model.given(99, 0).is_err());
    }
}
