//! Annotates derivatives with comments that tell which source line each statement comes from, and its role.

use crate::side_by_side::{Kind, SideBySide};
use farfel_lang::Sources;

/// Converts generated Fortran in fixed form with line markers to text for people: without markers, and with a
/// comment in derivatives before the statements of each source line.
pub(crate) fn annotated(text: &str, sources: &Sources) -> String {
    let both = SideBySide::of(text, sources);
    let lines = both.sources.iter().map(|(_, text)| text.lines().collect());
    let lines: Vec<Vec<&str>> = lines.collect();
    let mut out = String::with_capacity(text.len());
    let mut kind = Kind::Primal;
    let mut title = Kind::Primal;
    let mut last_comment: Option<((usize, usize), &'static str)> = None;
    for (i, line) in both.lines.iter().enumerate() {
        let code = line.text.trim();
        if line.text.starts_with('C') {
            let words = line.text.get(1..).unwrap_or_default().trim();
            title = Kind::of_title(words).unwrap_or(title);
        } else if line.unit.is_some() {
            kind = std::mem::replace(&mut title, Kind::Primal);
            last_comment = None;
        } else if let (true, Some(from)) = (
            kind != Kind::Primal && !continues(&line.text) && is_executable(code),
            line.from,
        ) {
            let known = last_comment
                .filter(|(at, _)| *at == from)
                .map(|(_, role)| role);
            // A store to the tape follows the test whether there is room.
            let next = || {
                both.lines[i..]
                    .iter()
                    .find_map(|l| role(kind, l.text.trim()))
            };
            let role = role(kind, code).or(known).or_else(next).unwrap_or_default();
            let what = (from, role);
            if last_comment != Some(what) {
                last_comment = Some(what);
                if let Some(comment) = comment(&both, &lines, what) {
                    out.push_str(&comment);
                }
            }
        }
        out.push_str(&line.text);
        out.push('\n');
    }
    out
}

/// Returns the role of a statement; `None` if it is that of the preceding statement.
fn role(kind: Kind, code: &str) -> Option<&'static str> {
    let tape = ["TAPE_", "TOP_", "IF (TOP_", "STOP 'Farfel"];
    match code.split_once(" = ") {
        Some((to, _)) if to.starts_with("TAPE_") => Some("keeps what is overwritten"),
        Some((_, value)) if value.starts_with("TAPE_") => Some("as it was before"),
        _ if !is_executable(code) || tape.iter().any(|t| code.starts_with(t)) => None,
        Some((to, _)) => {
            // The names of variables for derivatives end with the number of the block.
            let name = to.split('(').next().unwrap_or_default();
            let derivative = name.contains("_G") || name.starts_with("TEMPB");
            Some(match (kind, derivative) {
                (Kind::Tangent, true) => "tangent",
                (_, true) => "adjoint",
                (_, false) => "",
            })
        }
        None => {
            let callee = code.strip_prefix("CALL ").unwrap_or_default();
            let callee = callee.split('(').next().unwrap_or_default();
            // Forward sweeps are called …_F_G1.
            let backward = callee.contains("_G") && !callee.contains("_F_G");
            Some(match kind {
                Kind::Adjoint if backward => "adjoint",
                Kind::Tangent if backward => "tangent",
                _ => "",
            })
        }
    }
}

/// Whether a line continues the statement of the preceding one.
fn continues(line: &str) -> bool {
    line.starts_with("     ") && line.as_bytes().get(5).is_some_and(|b| !b" 0".contains(b))
}

fn is_executable(code: &str) -> bool {
    const OTHERS: &[&str] = &[
        "DOUBLE PRECISION",
        "INTEGER",
        "REAL",
        "COMPLEX",
        "LOGICAL",
        "CHARACTER",
        "BYTE",
        "COMMON",
        "EQUIVALENCE",
        "DATA",
        "SAVE",
        "DIMENSION",
        "PARAMETER",
        "IMPLICIT",
        "EXTERNAL",
        "INTRINSIC",
        "ALLOCATABLE",
        "NAMELIST",
        "END",
        "ELSE",
        "CONTINUE",
    ];
    let starts = |w: &&&str| {
        code.strip_prefix(**w)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
    };
    !code.is_empty() && OTHERS.iter().find(starts).is_none()
}

/// Returns a comment such as `C     12: Y = X*SIN(X) (adjoint)`.
fn comment(
    both: &SideBySide,
    lines: &[Vec<&str>],
    ((file, line), role): ((usize, usize), &str),
) -> Option<String> {
    let (name, _) = both.sources.get(file)?;
    let source = lines.get(file)?.get(line.checked_sub(1)?)?.trim();
    let place = match both.sources.len() {
        1 => line.to_string(),
        _ => format!("{name}:{line}"),
    };
    let role = match role {
        "" => String::new(),
        role => format!(" ({role})"),
    };
    let room = 64usize.saturating_sub(place.chars().count() + role.chars().count());
    let short: String = match source.chars().count() > room {
        true => source
            .chars()
            .take(room.saturating_sub(3))
            .chain("...".chars())
            .collect(),
        false => source.to_owned(),
    };
    Some(format!("C     {place}: {short}{role}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_name_lines_and_roles() {
        let mut sources = Sources::new();
        sources.add(
            "a.ff",
            "      SUBROUTINE F(X, Y)\n      Y = X*X\n      X = 2*Y\n      END\n",
        );
        let text = "\
# 1 \"a.ff\"
      SUBROUTINE F(X, Y)
      Y = X*X
      X = 2*Y
      END

C Adjoint of F: derivative of Y with respect to X
# 1 \"a.ff\"
      SUBROUTINE F_G1(X, X_G1, Y, Y_G1)
      REAL X
# 3 \"a.ff\"
      X = TAPE_R4_G1(TOP_R4_G1)
# 3 \"a.ff\"
      TOP_R4_G1 = TOP_R4_G1 - 1
# 0 \"\"
      I = 1
# 2 \"a.ff\"
      X_G1 = X_G1 + 2.0*X*Y_G1
      END
";
        let shown = annotated(text, &sources);
        let wanted = [
            "C     3: X = 2*Y (as it was before)\n      X = TAPE_R4_G1",
            "C     2: Y = X*X (adjoint)\n      X_G1 = X_G1",
        ];
        for w in wanted {
            assert!(shown.contains(w), "no {w} in\n{shown}");
        }
        assert!(!shown.contains('#'), "{shown}");
        assert_eq!(shown.matches("C     ").count(), 2, "{shown}");
    }
}
