//! Values that compare with confidential data in the clear: for the agency's own staff, and never shown
//! without their stamp.
//!
//! This is the one way out of [`Confidential`] that charges nothing, since what takes it must not leave
//! the agency. It leads to an [`Internal`] and no further: the value is never handed out, it is written, and
//! every form that it is written in carries [`STAMP`].

use super::Confidential;
use serde::{Serialize, Serializer};

/// What stands on everything that was computed from confidential data without noise.
pub const STAMP: &str = "INTERNAL, NOT FOR RELEASE";

/// A value that tells of confidential data without protection.
///
/// It has no `Debug`, `Display`, `Clone` or `Deref`. [`Internal::show`] writes it in a [`Form`], which carries the
/// stamp; serialised, it is its own fields behind a field `stamp`.
///
/// ```compile_fail
/// fn leak(error: dpcausal::privacy::Internal<f64>) {
///     println!("{error:?}");
/// }
/// ```
/// ```compile_fail
/// fn leak(error: dpcausal::privacy::Internal<f64>) -> f64 {
///     *error
/// }
/// ```
pub struct Internal<T>(T);

/// A way of writing that carries a stamp where no reader can miss it.
pub trait Form {
    /// The document, stamped.
    fn stamped(self, stamp: &'static str) -> String;
}

impl<T> Confidential<T> {
    /// Discloses the value, without a charge, to those who may see the confidential data anyway. Only the
    /// room `evaluate` calls this (a test there reads the source and says who does).
    pub(crate) fn disclose_to_the_agencys_own_staff(self) -> Internal<T> {
        Internal(self.open())
    }
}

impl<T> Internal<T> {
    /// The value in a form, stamped. `form` is a plain function, so it can't carry the value out in what
    /// it captures.
    pub fn show<Q: ?Sized, F: Form>(&self, question: &Q, form: fn(&T, &Q) -> F) -> String {
        form(&self.0, question).stamped(STAMP)
    }
}

impl<T, E> Internal<Result<T, E>> {
    /// The failure, which says what to do, or the value.
    ///
    /// # Errors
    /// That of the result.
    pub fn checked(self) -> Result<Internal<T>, E> {
        self.0.map(Internal)
    }
}

#[derive(Serialize)]
struct Stamped<'a, T> {
    stamp: &'static str,
    #[serde(flatten)]
    value: &'a T,
}

impl<T: Serialize> Serialize for Internal<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let stamped = Stamped {
            stamp: STAMP,
            value: &self.0,
        };
        stamped.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Value {
        answer: i64,
    }

    struct Line(String);

    impl Form for Line {
        fn stamped(self, stamp: &'static str) -> String {
            format!("{stamp}: {}", self.0)
        }
    }

    #[test]
    fn no_form_goes_without_the_stamp() {
        let value = Confidential::new(Value { answer: 42 });
        let internal = value.disclose_to_the_agencys_own_staff();
        let json = serde_json::to_string(&internal).unwrap();
        assert_eq!(json, r#"{"stamp":"INTERNAL, NOT FOR RELEASE","answer":42}"#);
        let line = internal.show(&2, |value, by| Line((value.answer * by).to_string()));
        assert_eq!(line, "INTERNAL, NOT FOR RELEASE: 84");
    }
}
