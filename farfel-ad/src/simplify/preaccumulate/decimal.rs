//! Exact decimal numbers: the values of constants as they are written.

use farfel_lang::ir::Expr;
use farfel_lang::source::Span;

/// `mantissa * 10**exponent`, exactly. The mantissa does not end in a zero digit, so that
/// equal numbers are equal values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decimal {
    mantissa: i128,
    exponent: i32,
}

/// Constants with more digits are not folded: they would not fit on a line.
const MOST_DIGITS: usize = 30;

impl Decimal {
    pub const ZERO: Decimal = Decimal {
        mantissa: 0,
        exponent: 0,
    };
    pub const ONE: Decimal = Decimal {
        mantissa: 1,
        exponent: 0,
    };

    fn new(mut mantissa: i128, mut exponent: i32) -> Option<Self> {
        if mantissa == 0 {
            return Some(Self::ZERO);
        }
        while mantissa % 10 == 0 {
            mantissa /= 10;
            exponent = exponent.checked_add(1)?;
        }
        let number = Decimal { mantissa, exponent };
        (number.digits().len() <= MOST_DIGITS).then_some(number)
    }

    /// The value of a real constant as written: `20.0`, `1.E-3`, `.5D0`.
    pub fn parse(text: &str) -> Option<Self> {
        let (digits, exponent) = match text.find(['E', 'D', 'Q']) {
            Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all = format!("{whole}{fraction}");
        if exponent.abs() > 9999 || all.is_empty() || !all.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let scale = i32::try_from(fraction.len()).ok()?;
        Self::new(all.parse().ok()?, exponent - scale)
    }

    pub fn from_int(n: i64) -> Option<Self> {
        Self::new(i128::from(n), 0)
    }

    pub fn is_zero(self) -> bool {
        self.mantissa == 0
    }

    pub fn is_negative(self) -> bool {
        self.mantissa < 0
    }

    pub fn neg(self) -> Self {
        Decimal {
            mantissa: -self.mantissa,
            ..self
        }
    }

    pub fn abs(self) -> Self {
        Decimal {
            mantissa: self.mantissa.abs(),
            ..self
        }
    }

    /// Whether the number is 1 or -1.
    pub fn is_unit(self) -> bool {
        self.abs() == Self::ONE
    }

    /// The sum; `None` if it has too many digits.
    pub fn add(self, other: Self) -> Option<Self> {
        let (high, low) = if self.exponent >= other.exponent {
            (self, other)
        } else {
            (other, self)
        };
        if high.is_zero() {
            return Some(low);
        }
        let shift = u32::try_from(high.exponent.checked_sub(low.exponent)?).ok()?;
        let mantissa = 10i128
            .checked_pow(shift)?
            .checked_mul(high.mantissa)?
            .checked_add(low.mantissa)?;
        Self::new(mantissa, low.exponent)
    }

    /// The product; `None` if it has too many digits.
    pub fn mul(self, other: Self) -> Option<Self> {
        Self::new(
            self.mantissa.checked_mul(other.mantissa)?,
            self.exponent.checked_add(other.exponent)?,
        )
    }

    /// The reciprocal, if the number is a power of two, so that no type rounds either of them.
    pub fn exact_inverse(self) -> Option<Self> {
        if self.is_negative() {
            return Some(self.neg().exact_inverse()?.neg());
        }
        if !self.is_power_of_two() {
            return None;
        }
        // 1/(m * 10**e) = (10**k / m) * 10**(-e-k) for a k for which m divides 10**k.
        for k in 0..=MOST_DIGITS as u32 {
            let power = 10i128.checked_pow(k)?;
            if power % self.mantissa == 0 {
                return Self::new(power / self.mantissa, -self.exponent - k as i32);
            }
        }
        None
    }

    fn is_power_of_two(self) -> bool {
        let Some((odd, _)) = self.odd_part() else {
            return false;
        };
        odd == 1
    }

    /// `(n, k)` such that the number is `n * 2**k` and n is odd; `None` if there is no such pair.
    fn odd_part(self) -> Option<(i128, i32)> {
        let mut n = self.mantissa;
        if self.exponent >= 0 {
            n = n.checked_mul(5i128.checked_pow(self.exponent.unsigned_abs())?)?;
        } else {
            let fives = 5i128.checked_pow(self.exponent.unsigned_abs())?;
            if n % fives != 0 {
                return None;
            }
            n /= fives;
        }
        if n == 0 {
            return Some((0, 0));
        }
        let twos = n.trailing_zeros();
        Some((n >> twos, self.exponent + twos as i32))
    }

    /// Whether a REAL of this many bytes holds the number without rounding.
    pub fn is_exact_in(self, bytes: u8) -> bool {
        let bits = if bytes <= 4 { 24 } else { 53 };
        self.odd_part()
            .is_some_and(|(n, k)| n.abs() < 1 << bits && (-100..=100).contains(&k))
    }

    /// Whether the number is well within the range of a REAL of this many bytes.
    pub fn in_range_of(self, bytes: u8) -> bool {
        let most = if bytes <= 4 { 36 } else { 300 };
        let leading = i64::from(self.exponent) + self.digits().len() as i64;
        self.is_zero() || (-most..=most).contains(&leading)
    }

    fn digits(self) -> String {
        self.mantissa.unsigned_abs().to_string()
    }

    /// The constant as it is written in Fortran, without a sign.
    pub fn text(self, bytes: u8) -> String {
        let letter = match bytes {
            0..=4 => 'E',
            5..=8 => 'D',
            _ => 'Q',
        };
        let digits = self.digits();
        let len = digits.len() as i32;
        // The number of digits before the point.
        let before = len + self.exponent;
        let plain = if self.exponent >= 0 && before <= 12 {
            format!("{digits}{}.0", "0".repeat(self.exponent as usize))
        } else if (1..len).contains(&before) {
            let (whole, fraction) = digits.split_at(before as usize);
            format!("{whole}.{fraction}")
        } else if (-5..=0).contains(&before) {
            format!("0.{}{digits}", "0".repeat(before.unsigned_abs() as usize))
        } else {
            let (first, rest) = digits.split_at(1);
            let rest = if rest.is_empty() { "0" } else { rest };
            return format!("{first}.{rest}{letter}{}", before - 1);
        };
        match letter {
            'E' => plain,
            _ => format!("{plain}{letter}0"),
        }
    }

    /// The constant as an expression: a negative one is a constant with a sign.
    pub fn expr(self, bytes: u8, span: Span) -> Expr {
        let constant = Expr::real(self.text(bytes), span);
        if self.is_negative() {
            Expr::minus(constant, span)
        } else {
            constant
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Decimal;

    fn d(text: &str) -> Decimal {
        match text.strip_prefix('-') {
            Some(t) => Decimal::parse(t).unwrap().neg(),
            None => Decimal::parse(text).unwrap(),
        }
    }

    fn show(n: Decimal) -> String {
        let sign = if n.is_negative() { "-" } else { "" };
        format!("{sign}{}", n.text(4))
    }

    #[test]
    fn arithmetic_is_exact() {
        for (a, op, b, want) in [
            ("20", '+', "-10.005", "9.995"),
            ("-0.1", '+', "0.05", "-0.05"),
            ("0.3", '+', "-0.3", "0.0"),
            ("1E10", '+', "1E-10", "10000000000.0000000001"),
            ("0.1", '*', "0.0999", "0.00999"),
            ("-2.5", '*', "4.", "-10.0"),
            ("1E20", '*', ".5", "5.0E19"),
        ] {
            let got = match op {
                '+' => d(a).add(d(b)),
                _ => d(a).mul(d(b)),
            };
            assert_eq!(got.map(show).as_deref(), Some(want), "{a} {op} {b}");
        }
    }

    #[test]
    fn too_many_digits_are_given_up() {
        assert_eq!(d("1E30").add(d("1E-30")), None);
        let third = d("0.333333333333333333333");
        assert_eq!(third.mul(third), None);
    }

    #[test]
    fn written_so_that_it_reads_back() {
        for (text, bytes, want) in [
            ("20", 4, "20.0"),
            ("1.E-3", 4, "0.001"),
            ("1.5E-12", 4, "1.5E-12"),
            ("1E30", 8, "1.0D30"),
            ("0.05", 8, "0.05D0"),
            ("12.5E1", 16, "125.0Q0"),
        ] {
            let got = d(text).text(bytes);
            assert_eq!(got, want);
            assert_eq!(d(&got), d(text));
        }
    }

    #[test]
    fn exactness() {
        assert!(d("0.5").is_exact_in(4));
        assert!(d("20").is_exact_in(4));
        assert!(!d("0.1").is_exact_in(8));
        assert!(d("16777215").is_exact_in(4));
        assert!(!d("16777217").is_exact_in(4));
        assert!(d("16777217").is_exact_in(8));
        assert_eq!(d("8").exact_inverse(), Some(d("0.125")));
        assert_eq!(d("-0.25").exact_inverse(), Some(d("-4")));
        assert_eq!(d("10").exact_inverse(), None);
        assert_eq!(d("3").exact_inverse(), None);
        assert_eq!(d("0").exact_inverse(), None);
    }

    #[test]
    fn range() {
        assert!(d("1E30").in_range_of(4));
        assert!(!d("1E38").in_range_of(4));
        assert!(d("1E38").in_range_of(8));
        assert!(!d("1E-40").in_range_of(4));
    }
}
