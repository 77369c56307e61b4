//! Formats that are known only at run time, and that gfortran's run-time library does not cope with.

/// The maximum number of parentheses inside each other. The library calls itself for each, and other
/// compilers allow fewer.
const DEEPEST: usize = 100;

/// The maximum width, number of digits, position and so on. The library allocates memory for them, ends
/// the process if there is none, and computes sizes in 32 bits.
const LARGEST: u64 = 1_000_000;

/// The maximum number of steps without a value: the library would go on for hours.
const MOST_STEPS: u64 = 1_000_000;

/// Returns what is wrong with a format that would harm the library. The library itself rejects all others
/// that are wrong.
pub(crate) fn problem_of_format(format: &[u8]) -> Option<String> {
    if format.contains(&0) {
        return Some("the format contains a zero byte".to_owned());
    }
    let mut open = vec![Group::default()];
    // The number before an item.
    let mut number: Option<u64> = None;
    let mut rest = format.iter().copied().peekable();
    while let Some(c) = rest.next() {
        // Blanks mean nothing, not even between digits.
        if is_blank(&c) {
            continue;
        }
        let count = number.take();
        let group = open.last_mut()?;
        match c.to_ascii_uppercase() {
            b'0'..=b'9' => number = Some(digits(c, &mut rest)),
            b'(' => {
                if open.len() > DEEPEST {
                    return Some(format!(
                        "the format has more than {DEEPEST} parentheses inside each other"
                    ));
                }
                open.push(Group {
                    count: count.unwrap_or(1),
                    ..Group::default()
                });
            }
            b')' => {
                let done = open.pop().unwrap_or_default();
                let group = open.last_mut()?;
                // Values end the repetition of a group that has some.
                let passes = if done.values { 1 } else { done.count };
                let steps = done.steps.saturating_add(1).saturating_mul(passes);
                group.steps = group.steps.saturating_add(steps);
                group.values |= done.values;
            }
            quote @ (b'\'' | b'"') => {
                let mut length = 0_u64;
                for c in rest.by_ref() {
                    if c == quote {
                        break;
                    }
                    length += 1;
                }
                group.steps = group.steps.saturating_add(length);
            }
            b'H' => {
                let count = count.unwrap_or(1);
                for _ in 0..count {
                    if rest.next().is_none() {
                        break;
                    }
                }
                group.steps = group.steps.saturating_add(count);
            }
            // Moves by the number before it.
            b'X' | b'/' => group.steps = group.steps.saturating_add(count.unwrap_or(1)),
            b'P' if count.is_some_and(|n| n > LARGEST) => {
                return Some(too_large(count.unwrap_or(0)));
            }
            letter @ (b'T' | b'A' | b'B' | b'D' | b'E' | b'F' | b'G' | b'I' | b'L' | b'O'
            | b'Z' | b'Q') => {
                group.values |= letter != b'T';
                // What follows belongs to the item: a width, digits, an exponent.
                while let Some(next) = rest.peek().copied() {
                    match next.to_ascii_uppercase() {
                        b'0'..=b'9' => {
                            rest.next();
                            let number = digits(next, &mut rest);
                            if number > LARGEST {
                                return Some(too_large(number));
                            }
                        }
                        b' ' | b'\t' | b'.' | b'E' | b'N' | b'S' | b'X' | b'D' | b'R' | b'L'
                        | b'Z' | b'T' => {
                            rest.next();
                        }
                        _ => break,
                    }
                }
            }
            _ => {}
        }
        if open.last().is_some_and(|g| g.steps > MOST_STEPS) {
            return Some(format!(
                "the format makes more than {MOST_STEPS} steps without a value"
            ));
        }
    }
    None
}

/// What is known of a group in parentheses.
#[derive(Default)]
struct Group {
    /// How often it is repeated.
    count: u64,
    /// The number of steps of one pass that transfer no value.
    steps: u64,
    /// Whether it has descriptors for values.
    values: bool,
}

/// Reads the rest of a number.
fn digits(first: u8, rest: &mut std::iter::Peekable<impl Iterator<Item = u8>>) -> u64 {
    let mut number = u64::from(first - b'0');
    while let Some(digit) = rest.next_if(|c| c.is_ascii_digit() || is_blank(c)) {
        if is_blank(&digit) {
            continue;
        }
        number = number
            .saturating_mul(10)
            .saturating_add(u64::from(digit - b'0'));
    }
    number
}

fn is_blank(c: &u8) -> bool {
    matches!(c, b' ' | b'\t')
}

fn too_large(number: u64) -> String {
    format!("the format contains the number {number}, and more than {LARGEST} is too much")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parentheses_and_zero_bytes() {
        let nested = |n: usize| format!("{}F5.1{}", "(".repeat(n), ")".repeat(n));
        assert_eq!(problem_of_format(nested(100).as_bytes()), None);
        assert!(problem_of_format(nested(101).as_bytes()).is_some());
        assert_eq!(problem_of_format("()".repeat(500).as_bytes()), None);
        assert!(problem_of_format(b"(\0)").is_some());
        assert_eq!(problem_of_format(b""), None);
    }

    #[test]
    fn numbers() {
        for fine in [
            "(1P3E12.4E3, 2X, T100000, TL5, A80)",
            "(2147483647F8.3)",
            "(99999999(1X, F8.3))",
            "(999999(I5, 999999(2X, F3.1)))",
            "(F8.3, 9H99999999(, '(2147483647X')",
            "(*(G0, :, ','))",
            "(EN12.3, ES12.3E2, EX20.5, DT)",
            "(-2P, F8.3)",
            ")))",
        ] {
            assert_eq!(problem_of_format(fine.as_bytes()), None, "{fine}");
        }
        for harmful in [
            "(F10.2147483640)",
            "(F2147483647.2)",
            "(E10.5E99999999)",
            "(ES10.2147483647)",
            "( G 0 . 2 1 4 7 4 8 3 6 4 7 )",
            "(2147483647P, F8.3)",
            "(-2147483647P, F8.3)",
            "(T2147483647)",
            "(TR99999999999999999999)",
            "(2147483647X)",
            "(2147483647/)",
            "(2000(2000(1X)), F8.3)",
            "(1000000(1000000(:)), F8.3)",
            "(999999('xxxx'), F8.3)",
            "(999999(4Hxxxx), F8.3)",
            "(9H         F1.214748364)",
            "(2 147483 647 X)",
            "(A2147483647)",
        ] {
            assert!(problem_of_format(harmful.as_bytes()).is_some(), "{harmful}");
        }
    }
}
