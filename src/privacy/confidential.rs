//! A value computed from confidential data, which only a mechanism can turn into a plain one.

/// Anything computed from confidential data.
///
/// It has no `Debug`, `Display`, `Serialize`, `Clone` or `Deref`, and no public way to the value: the
/// mechanisms of this room open it, after they charged the accountant.
///
/// ```compile_fail
/// fn leak(count: dpcausal::privacy::Confidential<i64>) {
///     println!("{}", count);
/// }
/// ```
/// ```compile_fail
/// fn leak(count: dpcausal::privacy::Confidential<i64>) -> i64 {
///     *count
/// }
/// ```
/// ```compile_fail
/// fn leak(count: &dpcausal::privacy::Confidential<i64>) -> String {
///     serde_json::to_string(count).unwrap()
/// }
/// ```
pub struct Confidential<T>(T);

impl<T> Confidential<T> {
    /// Wraps a value computed from confidential data.
    pub fn new(value: T) -> Self {
        Confidential(value)
    }

    /// Answers a public question. The answer is confidential again, and `answer` is a plain function, so
    /// it can't carry a value out in what it captures.
    pub(crate) fn ask<Q: ?Sized, A>(
        &self,
        question: &Q,
        answer: fn(&T, &Q) -> A,
    ) -> Confidential<A> {
        Confidential(answer(&self.0, question))
    }

    /// As [`ask`](Confidential::ask), of a value that keeps what it was told: the state of a sequence of questions.
    pub(crate) fn tell<Q: ?Sized, A>(
        &mut self,
        question: &Q,
        answer: fn(&mut T, &Q) -> A,
    ) -> Confidential<A> {
        Confidential(answer(&mut self.0, question))
    }

    /// The value, for this room's division by rows.
    pub(in crate::privacy) fn inner(&self) -> &T {
        &self.0
    }

    /// The value itself, for the mechanisms of this room only.
    pub(in crate::privacy) fn open(self) -> T {
        self.0
    }
}

impl<T> Confidential<Vec<T>> {
    /// The answer to a question that was asked in parts.
    pub(crate) fn append(&mut self, more: Confidential<Vec<T>>) {
        self.0.extend(more.0);
    }

    /// The parts of an answer whose number is public: one per query.
    pub(crate) fn into_parts(self) -> impl Iterator<Item = Confidential<T>> {
        self.0.into_iter().map(Confidential)
    }
}
