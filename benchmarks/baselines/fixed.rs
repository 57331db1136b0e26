//! Two fixed calibration problems on Adult: the star on income, and the tree of the strongest pairs.

use crate::tables::Coded;
use dpcausal::model::{AxisMap, Domain, MeasuredAxis, Measurement, Problem};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Normal};

/// The `rho` of epsilon = 1 at delta = 1e-9.
const RHO: f64 = 0.0149731;

/// All single columns and the pairs of the last column with every other.
pub fn star(data: &Coded) -> Problem {
    let last = data.sizes.len() - 1;
    let pairs: Vec<Vec<usize>> = (0..last).map(|column| vec![column, last]).collect();
    problem(data, &pairs)
}

/// All single columns and the spanning tree of the pairs that are furthest, in L1, from independence.
pub fn tree(data: &Coded) -> Problem {
    let columns = data.sizes.len();
    let all = (0..columns).flat_map(|b| (0..b).map(move |a| vec![a, b]));
    let mut pairs: Vec<(f64, Vec<usize>)> =
        all.map(|pair| (dependence(data, &pair), pair)).collect();
    pairs.sort_by(|left, right| right.0.total_cmp(&left.0));
    let mut part: Vec<usize> = (0..columns).collect();
    let mut edges = Vec::new();
    for (_, pair) in pairs {
        let [from, to] = [part[pair[0]], part[pair[1]]];
        if from != to {
            part.iter_mut()
                .filter(|p| **p == from)
                .for_each(|p| *p = to);
            edges.push(pair);
        }
    }
    problem(data, &edges)
}

/// All single columns and these pairs, each with an equal part of the budget.
fn problem(data: &Coded, pairs: &[Vec<usize>]) -> Problem {
    let mut sets: Vec<Vec<usize>> = (0..data.sizes.len()).map(|column| vec![column]).collect();
    sets.extend_from_slice(pairs);
    let sigma = (sets.len() as f64 / (2.0 * RHO)).sqrt();
    let noise = Normal::new(0.0, sigma).expect("a standard deviation");
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let measurements = sets.iter().map(|set| {
        let counts = counts(data, set).into_iter();
        Measurement {
            name: set
                .iter()
                .map(|&c| data.names[c].as_str())
                .collect::<Vec<_>>()
                .join("*"),
            axes: set
                .iter()
                .map(|&variable| MeasuredAxis {
                    variable,
                    map: AxisMap::Identity,
                })
                .collect(),
            values: counts
                .map(|count| count + noise.sample(&mut random))
                .collect(),
            sigma,
        }
    });
    Problem {
        measurements: measurements.collect(),
        domain: Domain::new(data.names.clone(), data.sizes.clone()).expect("a domain"),
        reference: Vec::new(),
        total: data.table.rows as f64,
        max_cells: 1 << 24,
        entropy_weight: 1.0,
    }
}

fn counts(data: &Coded, set: &[usize]) -> Vec<f64> {
    let columns: Vec<&[u16]> = set
        .iter()
        .map(|&c| data.table.codes[c].as_deref().expect("codes"))
        .collect();
    let mut counts = vec![0.0; set.iter().map(|&c| data.sizes[c]).product()];
    for row in 0..data.table.rows {
        let cell = |cell: usize, (codes, &c): (&&[u16], &usize)| {
            cell * data.sizes[c] + usize::from(codes[row])
        };
        counts[columns.iter().zip(set).fold(0, cell)] += 1.0;
    }
    counts
}

/// The L1 distance of a pair's counts from those of independent columns.
fn dependence(data: &Coded, pair: &[usize]) -> f64 {
    let (joint, first, second) = (
        counts(data, pair),
        counts(data, &pair[..1]),
        counts(data, &pair[1..]),
    );
    let expected = first
        .iter()
        .flat_map(|a| second.iter().map(move |b| a * b / data.table.rows as f64));
    joint.iter().zip(expected).map(|(x, e)| (x - e).abs()).sum()
}

/// The problems for another program: for each, names and sizes, and of every measurement its columns, values and sigma.
pub fn to_json(problems: &[(&str, Problem)]) -> String {
    let one = |problem: &Problem| {
        let measurements = problem.measurements.iter().map(|measurement| {
            let names = measurement.axes.iter().map(|axis| &problem.domain.names()[axis.variable]);
            serde_json::json!({
                "columns": names.collect::<Vec<_>>(), "values": measurement.values, "sigma": measurement.sigma,
            })
        });
        serde_json::json!({
            "names": problem.domain.names(), "sizes": problem.domain.sizes(), "total": problem.total,
            "measurements": measurements.collect::<Vec<_>>(),
        })
    };
    let by_name: serde_json::Map<String, serde_json::Value> = problems
        .iter()
        .map(|(name, problem)| ((*name).to_string(), one(problem)))
        .collect();
    serde_json::Value::Object(by_name).to_string()
}
