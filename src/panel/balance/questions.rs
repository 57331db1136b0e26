//! The questions of the three measurements to the donors' rows: sums of bounded contributions.

use super::features::Features;
use crate::panel::channel::Lattice;
use crate::panel::linear::{clip_length, dot};
use crate::schema::PanelSchema;
use crate::table::DonorRows;

/// The clips.
pub(super) const MEANS_CLIP: f64 = 2.5;
pub(super) const PAST_CLIP: f64 = 0.7;
pub(super) const ERROR_CLIP: f64 = 1.0;

/// The public questions to the donors.
pub(super) struct Question<'a> {
    pub schema: &'a PanelSchema,
    pub features: &'a Features,
    pub past_mean: &'a [f64],
    pub error_mean: &'a [f64],
    pub theta: &'a [f64],
    pub clip: f64,
    pub lattice: Lattice,
}

pub(super) fn sum_of_means(rows: &DonorRows, question: &Question<'_>) -> Vec<i64> {
    let features = question.features;
    let mut sum = vec![0; features.order() + features.periods()];
    for row in rows {
        let (mut a, mut b) = features.of(row, question.schema);
        clip_length(&mut a, MEANS_CLIP);
        clip_length(&mut b, MEANS_CLIP);
        a.append(&mut b);
        question.lattice.add(&mut sum, &a);
    }
    sum
}

/// A donor's past about the released mean, clipped.
fn centred(mut a: Vec<f64>, mean: &[f64]) -> Vec<f64> {
    a.iter_mut().zip(mean).for_each(|(a, m)| *a -= m);
    clip_length(&mut a, PAST_CLIP);
    a
}

pub(super) fn sum_of_spreads(rows: &DonorRows, question: &Question<'_>) -> Vec<i64> {
    let order = question.features.order();
    let mut sum = vec![0; order * (order + 1) / 2];
    for row in rows {
        let a = centred(
            question.features.of(row, question.schema).0,
            question.past_mean,
        );
        question
            .lattice
            .add_triangle(&mut sum, order, |i, j| a[i] * a[j]);
    }
    sum
}

pub(super) fn sum_of_balanced(rows: &DonorRows, question: &Question<'_>) -> Vec<i64> {
    let mut sum = vec![0; question.features.periods()];
    for row in rows {
        let (a, mut b) = question.features.of(row, question.schema);
        let weight = 1.0 + dot(&centred(a, question.past_mean), question.theta);
        let weight = weight.clamp(-question.clip, question.clip);
        b.iter_mut()
            .zip(question.error_mean)
            .for_each(|(b, m)| *b -= m);
        clip_length(&mut b, ERROR_CLIP);
        b.iter_mut().for_each(|b| *b *= weight);
        question.lattice.add(&mut sum, &b);
    }
    sum
}
