//! Numbers as people read them: thousands separators, digits that the standard error supports,
//! percentages and sizes.

/// Significant digits of a standard error: with three, rounding changes an interval's ends by less than
/// half a percent of the standard error.
const STANDARD_ERROR_DIGITS: i32 = 3;

/// Beyond this many digits before or after the point, a number is written with an exponent.
const LONGEST: i32 = 15;

/// A whole number with thousands separators: `1,234,567`.
pub fn integer(value: u64) -> String {
    grouped(&value.to_string())
}

/// A number with a fixed count of decimals and thousands separators: `-1,234.50`. What is not finite is
/// written `∞`, `-∞` or `undefined`; what rounds to zero has no sign; what is too large to be read as
/// digits has an exponent.
pub fn fixed(value: f64, decimals: usize) -> String {
    if value.is_nan() {
        return "undefined".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "∞" } else { "-∞" }.into();
    }
    if value.abs() >= 10f64.powi(LONGEST) {
        return format!("{value:.3e}");
    }
    let text = format!("{:.decimals$}", value.abs());
    let negative = value < 0.0 && text.bytes().any(|b| (b'1'..=b'9').contains(&b));
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, format!(".{fraction}")),
        None => (text.as_str(), String::new()),
    };
    let sign = if negative { "-" } else { "" };
    format!("{sign}{}{fraction}", grouped(whole))
}

/// A number with so many significant digits, thousands separators and no trailing zeros after the
/// point: `0.0149731`, `4.225`, `1,234`. Very small and very large ones have an exponent: `1e-9`.
pub fn significant(value: f64, digits: u32) -> String {
    if value == 0.0 {
        return "0".into();
    }
    if !value.is_finite() {
        return fixed(value, 0);
    }
    let digits = digits.clamp(1, 17) as i32;
    let rounded = format!("{:.*e}", digits as usize - 1, value);
    let (mantissa, exponent) = rounded.split_once('e').unwrap_or((&rounded, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-5..LONGEST).contains(&exponent) {
        return format!("{}e{exponent}", without_trailing_zeros(mantissa));
    }
    let decimals = (digits - 1 - exponent).max(0) as usize;
    without_trailing_zeros(&fixed(value, decimals)).into()
}

/// The count of decimals that shows the smallest of some standard errors with three significant digits,
/// but the largest with no more than five. Units and tens are never rounded away. Standard errors that
/// are zero or not finite say nothing; where none says anything, the answer is 3.
pub fn decimals_for(standard_errors: impl IntoIterator<Item = f64>) -> usize {
    let magnitudes = standard_errors
        .into_iter()
        .filter(|error| error.is_finite() && *error > 0.0)
        .map(magnitude);
    let (smallest, largest) = magnitudes.fold((i32::MAX, i32::MIN), |(low, high), magnitude| {
        (low.min(magnitude), high.max(magnitude))
    });
    if smallest > largest {
        return 3;
    }
    let decimals = STANDARD_ERROR_DIGITS - 1 - smallest.max(largest - 2);
    decimals.clamp(0, LONGEST) as usize
}

/// The exponent of a positive number's first digit once it is rounded to the digits of a standard
/// error: 2 for 999.4, 3 for 999.9.
fn magnitude(value: f64) -> i32 {
    let rounded = format!("{:.*e}", STANDARD_ERROR_DIGITS as usize - 1, value);
    rounded
        .split_once('e')
        .and_then(|(_, exponent)| exponent.parse().ok())
        .unwrap_or(0)
}

/// A share in percent: `12 %`, `0.4 %`, `< 0.1 %`. Shares near either end keep the digit that tells them
/// from it.
pub fn percentage(share: f64) -> String {
    let percent = 100.0 * share;
    if !percent.is_finite() {
        return fixed(percent, 0);
    }
    if percent > 0.0 && percent < 0.1 {
        return "< 0.1 %".into();
    }
    if percent < 100.0 && percent > 99.9 {
        return "> 99.9 %".into();
    }
    let near_an_end = percent.abs() < 9.95 || (99.0..100.0).contains(&percent);
    let text = fixed(percent, usize::from(near_an_end));
    format!("{} %", without_trailing_zeros(&text))
}

/// A size in memory or on disk, in binary units: `512 B`, `1.5 MiB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    // 1023.95 would be written 1024.0 with one decimal.
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", fixed(value, 1), UNITS[unit])
}

/// Digits in groups of three.
fn grouped(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn without_trailing_zeros(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        let texts = [0, 999, 1_000, 123_456, 1_234_567].map(integer);
        assert_eq!(texts, ["0", "999", "1,000", "123,456", "1,234,567"]);
        assert_eq!(fixed(-1234.5, 2), "-1,234.50");
        assert_eq!(fixed(1794.34, 0), "1,794");
        assert_eq!(fixed(-0.0004, 3), "0.000");
        assert_eq!(fixed(f64::INFINITY, 1), "∞");
        assert_eq!(fixed(f64::NEG_INFINITY, 1), "-∞");
        assert_eq!(fixed(f64::NAN, 1), "undefined");
        assert_eq!(fixed(f64::MAX, 2), "1.798e308");
    }

    #[test]
    fn significant_digits_drop_trailing_zeros() {
        assert_eq!(significant(0.0149731, 6), "0.0149731");
        assert_eq!(significant(4.225, 4), "4.225");
        assert_eq!(significant(4.0, 4), "4");
        assert_eq!(significant(1e-9, 4), "1e-9");
        assert_eq!(significant(0.00001, 4), "0.00001");
        assert_eq!(significant(1234.4, 3), "1,234");
        assert_eq!(significant(9.9996, 4), "10");
        assert_eq!(significant(-2.5e20, 4), "-2.5e20");
        assert_eq!(significant(0.0, 4), "0");
    }

    #[test]
    fn decimals_follow_the_standard_errors() {
        assert_eq!(decimals_for([671.0]), 0);
        assert_eq!(decimals_for([0.0123]), 4);
        assert_eq!(decimals_for([9.994]), 2);
        assert_eq!(decimals_for([9.996]), 1);
        // The smaller one would have one decimal and gets it: 6,712.0 has five digits.
        assert_eq!(decimals_for([6712.0, 12.3]), 1);
        assert_eq!(decimals_for([6712.0, 1.23]), 1);
        assert_eq!(decimals_for([0.5, 12.3]), 3);
        assert_eq!(decimals_for([0.0, f64::INFINITY, f64::NAN]), 3);
        assert_eq!(decimals_for([1e-300]), 15);
    }

    #[test]
    fn shares_near_an_end_are_told_from_it() {
        let shares = [0.0, 1e-9, 0.004, 0.0996, 0.123, 0.5, 0.996, 0.99999, 1.0];
        let expected = [
            "0 %", "< 0.1 %", "0.4 %", "10 %", "12 %", "50 %", "99.6 %", "> 99.9 %", "100 %",
        ];
        assert_eq!(shares.map(percentage), expected);
    }

    #[test]
    fn sizes_use_binary_units() {
        let sizes = [0, 1023, 1024, 1536, 1_048_575, 1_048_576, 5 << 30];
        let expected = [
            "0 B", "1,023 B", "1.0 KiB", "1.5 KiB", "1.0 MiB", "1.0 MiB", "5.0 GiB",
        ];
        assert_eq!(sizes.map(size), expected.map(|s| s.replace(",", "")));
    }
}
