//! Extracts what the comments of a subprogram say about its arguments, in the styles of LAPACK and
//! MINPACK.
//!
//! ```text
//! > \param[out] INFO                                INFO    (output) INTEGER
//! > \verbatim                                               = 0:  successful exit
//! >          INFO is INTEGER                                > 0:  U(i,i) is zero
//! >          = 0:  successful exit
//! >          > 0:  U(i,i) is zero                   wa is a work array of length lwa.
//! > \endverbatim                                    fvec is an output array of length n
//! ```
//!
//! Nothing is guessed: comments in other forms are ignored.

use farfel_lang::ir::{SpecKind, StmtKind, Unit};

/// Information from comments about an argument.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct ArgumentComment {
    /// Whether the argument is set and its value on entry does not matter.
    pub output: bool,
    /// Whether the argument is a work array.
    pub workspace: bool,
    /// The bounds of an array: `LDA,N`.
    pub dimension: Option<String>,
    /// Bounds that an array may have at least: `nest`. The arrays of callers may be larger.
    pub enough: Option<String>,
    /// The least value of a number: `(n*(3*n+13))/2`.
    pub least: Option<String>,
    /// The least length of the work array of which a number is the declared length: `mx*(kx+1)+my*(ky+1)`.
    pub work_length: Option<String>,
    /// The array of which a number is the declared length.
    pub length_of: Option<String>,
    /// The comment lines about the argument.
    pub lines: Vec<String>,
}

impl ArgumentComment {
    /// Prefers what is known in the styles of LAPACK and MINPACK to what a list says.
    pub(super) fn or(self, listed: Option<Self>) -> Self {
        let says_nothing = Self {
            lines: Vec::new(),
            length_of: None,
            ..self.clone()
        } == Self::default();
        match listed {
            Some(listed) if says_nothing => Self {
                length_of: self.length_of,
                ..listed
            },
            _ => self,
        }
    }
}

/// A condition on the value of an argument, and its meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Meaning {
    /// The relation: `=`, `<`, `>`, `<=`, `>=` or `/=`.
    pub relation: &'static str,
    /// The number that the value is compared with.
    pub value: i64,
    /// The meaning, as in the comment.
    pub text: String,
}

/// The comments of a subprogram, and what single lines of them say about arguments.
pub(super) struct Comments<'u> {
    /// The lines: those before the unit, among its declarations, and before its first executable statement.
    pub lines: Vec<&'u str>,
    /// The names in `wa1, wa2, and wa3 are work arrays of length n.`
    work_arrays: Vec<&'u str>,
    /// A number and the array of which it is the length.
    lengths: Vec<(&'u str, String)>,
}

impl<'u> Comments<'u> {
    pub(super) fn of(unit: &'u Unit) -> Self {
        Self::from_lines(comments(unit))
    }

    fn from_lines(lines: Vec<&'u str>) -> Self {
        Comments {
            work_arrays: lines.iter().flat_map(|l| work_arrays(l)).collect(),
            lengths: lines.iter().filter_map(|l| length_of(l)).collect(),
            lines,
        }
    }
}

/// Returns the comment lines of a unit: those before it, among its declarations, and before its first
/// executable statement.
pub(super) fn comments(unit: &Unit) -> Vec<&str> {
    let mut lines: Vec<&str> = unit.comments.iter().map(String::as_str).collect();
    lines.extend(unit.specs.iter().filter_map(|s| match &s.kind {
        SpecKind::Comment(text) => Some(&**text),
        _ => None,
    }));
    lines.extend(unit.body.iter().map_while(|s| match &s.kind {
        StmtKind::Comment(text) => Some(&**text),
        _ => None,
    }));
    // Doxygen comments begin with `>`.
    let plain = lines.into_iter().map(|l| l.strip_prefix('>').unwrap_or(l));
    plain.collect()
}

/// Extracts the information about an argument from comments.
pub(super) fn argument_comment(comments: &Comments, name: &str) -> ArgumentComment {
    let mut comment = ArgumentComment::default();
    for (at, line) in comments.lines.iter().enumerate() {
        let rest = &comments.lines[at + 1..];
        if let Some((direction, named)) = parameter(line) {
            if !named.eq_ignore_ascii_case(name) {
                continue;
            }
            let lines = rest.iter().map(|l| l.trim());
            let lines = lines.take_while(|l| *l != "\\endverbatim" && parameter(l).is_none());
            let lines = lines.filter(|l| *l != "\\verbatim");
            comment.lines = lines.map(str::to_owned).collect();
            comment.output = direction == "out";
            break;
        }
        let Some(text) = about(line, name) else {
            continue;
        };
        let indent = indent(line);
        let more = rest
            .iter()
            .take_while(|l| l.trim().is_empty() || self::indent(l) > indent);
        let lines: Vec<&str> = std::iter::once(&text)
            .chain(more)
            .map(|l| l.trim())
            .collect();
        let end = lines
            .iter()
            .rposition(|l| !l.is_empty())
            .map_or(0, |e| e + 1);
        comment.lines = lines[..end].iter().map(|l| (*l).to_owned()).collect();
        break;
    }
    let head = comment.lines.iter().take_while(|l| !l.is_empty()).take(3);
    let head = head.cloned().collect::<Vec<_>>().join(" ");
    let start = head.to_ascii_lowercase();
    let before_end = start.split(". ").next().unwrap_or_default();
    comment.output |= start.starts_with("(output)")
        || [
            " is an output ",
            " is an integer output array",
            " integer output variable",
        ]
        .iter()
        .any(|w| before_end.contains(w));
    let is_it = |n: &str| n.eq_ignore_ascii_case(name);
    comment.workspace =
        start.starts_with("(workspace") || comments.work_arrays.iter().any(|n| is_it(n));
    comment.dimension = dimension(&head);
    comment.least = least(&head);
    let mut lengths = comments.lengths.iter();
    comment.length_of = lengths
        .find(|(n, _)| is_it(n))
        .map(|(_, array)| array.clone());
    comment
}

/// Returns the expression in `lwa is a positive integer input variable not less than 5*n+m.`
fn least(head: &str) -> Option<String> {
    const WORDS: &str = " input variable not less than ";
    let at = head.to_ascii_lowercase().find(WORDS)?;
    let text = head[at + WORDS.len()..].split_whitespace().next()?;
    Some(text.trim_end_matches(['.', ',']).to_owned())
}

/// Returns the number and the array in `LRW -- Set it to the declared length of the RWORK array.`
fn length_of(line: &str) -> Option<(&str, String)> {
    const WORDS: &str = "declared length of ";
    let at = find_ignoring_case(line, WORDS)?;
    let number = line.split_whitespace().next()?;
    let mut words = line[at + WORDS.len()..].split_whitespace();
    let array = words.find(|w| !["the", "array"].contains(&&*w.to_ascii_lowercase()))?;
    Some((number, array.trim_matches(['.', '"', '\'']).to_owned()))
}

/// Finds a text in lower case in a line in either case.
fn find_ignoring_case(line: &str, text: &str) -> Option<usize> {
    let windows = line.as_bytes().windows(text.len());
    let mut found = windows.enumerate();
    let (at, _) = found.find(|(_, w)| w.eq_ignore_ascii_case(text.as_bytes()))?;
    Some(at)
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Parses `\param[in,out] A` into the direction and the name.
fn parameter(line: &str) -> Option<(&str, &str)> {
    let (direction, name) = line.trim().strip_prefix("\\param[")?.split_once(']')?;
    Some((direction, name.trim()))
}

/// Returns the description in a line such as `INFO    (output) INTEGER` or
/// `info is an integer output variable.` In the second form the name is part of the description.
fn about<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    let line = line.trim();
    let head = line.get(..name.len())?;
    if !head.eq_ignore_ascii_case(name) {
        return None;
    }
    let rest = &line[name.len()..];
    let described = rest.trim_start();
    match rest.starts_with(' ') {
        true if described.starts_with('(') && !described.starts_with("()") => Some(described),
        true if described.starts_with("is ") => Some(line),
        _ => None,
    }
}

/// Returns the arguments that a line calls work arrays: `wa1, wa2, and wa3 are work arrays of length n.` or
/// `iwa is an integer work array`.
fn work_arrays(line: &str) -> Vec<&str> {
    let Some(end) = find_ignoring_case(line, " work array") else {
        return Vec::new();
    };
    let words: Vec<&str> = line[..end].split_whitespace().collect();
    let is_verb = |w: &&str| w.eq_ignore_ascii_case("is") || w.eq_ignore_ascii_case("are");
    let Some(verb) = words.iter().position(is_verb) else {
        return Vec::new();
    };
    let (names, kind) = words.split_at(verb);
    // At most a verb, an article and a type of one or two words precede `work array`.
    if kind.len() > 4 {
        return Vec::new();
    }
    names.iter().map(|n| n.trim_end_matches(',')).collect()
}

/// Returns the bounds in `array, dimension (LDA,N)`: the text in the parentheses.
fn dimension(head: &str) -> Option<String> {
    let lower = head.to_ascii_lowercase();
    let at = lower.find("array, dimension (")?;
    let text = &head[at + "array, dimension (".len()..];
    let mut depth = 1;
    let end = text.find(|c| {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        depth == 0
    })?;
    Some(text[..end].to_owned())
}

/// Extracts the meanings of values from the lines about an argument: `= 0:  successful exit`,
/// `info = 2   too many calls`.
pub(super) fn meanings(name: &str, lines: &[String]) -> Vec<Meaning> {
    let mut found: Vec<Meaning> = Vec::new();
    let mut open = false;
    for line in lines {
        if let Some(meaning) = meaning(name, line) {
            found.push(meaning);
            open = true;
        } else if line.is_empty() {
            open = false;
        } else if open && let Some(last) = found.last_mut() {
            last.text.push(' ');
            last.text.push_str(line);
        }
    }
    found
}

/// Parses one line that begins with a condition.
fn meaning(name: &str, line: &str) -> Option<Meaning> {
    const RELATIONS: [&str; 6] = ["<=", ">=", "/=", "<", ">", "="];
    let (line, named) = match line.get(..name.len()) {
        Some(head) if head.eq_ignore_ascii_case(name) => (line[name.len()..].trim_start(), true),
        _ => (line, false),
    };
    let relation = RELATIONS.iter().find(|r| line.starts_with(**r))?;
    let rest = line[relation.len()..].trim_start();
    let digits = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    let length = rest.len() - digits.len()
        + digits
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(digits.len());
    let value = rest[..length].parse().ok()?;
    let text = rest[length..].strip_prefix(':').or_else(|| {
        // The column separator of a table.
        rest[length..].strip_prefix("  ").filter(|_| named)
    })?;
    Some(Meaning {
        relation,
        value,
        text: text.trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lapack() {
        let new = [
            "> \\param[out] IPIV",
            "> \\verbatim",
            ">          IPIV is INTEGER array, dimension (N)",
            ">          The pivot indices.",
            "> \\endverbatim",
            ">",
            "> \\param[in,out] A",
            "> \\verbatim",
            ">          A is DOUBLE PRECISION array, dimension (LDA,max(1,N))",
            "> \\endverbatim",
            "> \\param[out] INFO",
            "> \\verbatim",
            ">          INFO is INTEGER",
            ">          = 0:  successful exit",
            ">          > 0:  if INFO = i, U(i,i) is zero.  The factor U is",
            ">                singular.",
            "> \\endverbatim",
        ];
        let new = Comments::from_lines(new.iter().map(|l| &l[1..]).collect());
        let ipiv = argument_comment(&new, "IPIV");
        assert!(ipiv.output && !ipiv.workspace);
        assert_eq!(ipiv.dimension.as_deref(), Some("N"));
        let a = argument_comment(&new, "A");
        assert!(!a.output);
        assert_eq!(a.dimension.as_deref(), Some("LDA,max(1,N)"));
        let info = argument_comment(&new, "INFO");
        let meanings = meanings("INFO", &info.lines);
        let shown: Vec<String> = meanings
            .iter()
            .map(|m| format!("{} {}: {}", m.relation, m.value, m.text))
            .collect();
        assert_eq!(
            shown,
            [
                "= 0: successful exit",
                "> 0: if INFO = i, U(i,i) is zero.  The factor U is singular."
            ]
        );

        let old = Comments::from_lines(vec![
            "  IPIV    (output) INTEGER array, dimension (N)",
            "          The pivot indices.",
            "",
            "  WORK    (workspace/output) REAL array, dimension (LWORK)",
            "          On exit, the best size.",
            "  N       (input) INTEGER",
        ]);
        assert!(argument_comment(&old, "IPIV").output && argument_comment(&old, "WORK").workspace);
        assert_eq!(argument_comment(&old, "IPIV").lines.len(), 2);
        assert_eq!(
            argument_comment(&old, "N"),
            ArgumentComment {
                lines: vec!["(input) INTEGER".into()],
                ..ArgumentComment::default()
            }
        );
    }

    #[test]
    fn minpack() {
        let text = Comments::from_lines(vec![
            "       x is an array of length n. on output x",
            "         contains the final estimate of the solution vector.",
            "",
            "       fvec is an output array of length n which contains",
            "         the functions evaluated at the output x.",
            "",
            "       ipvt is an integer output array of length n.",
            "       lwa is a positive integer input variable not less than",
            "         m*n+5*n+m.",
            "       lrw -- set it to the declared length of the rwork array.",
            "",
            "       info is an integer output variable. otherwise,",
            "         info is set as follows.",
            "",
            "         info = 0   improper input parameters.",
            "",
            "         info = 1   the error between x and the",
            "                    solution is at most tol.",
            "",
            "       wa1, wa2, and wa3 are work arrays of length n.",
            "       iwa is an integer work array of length n.",
            "       ws is what is left of a work array.",
        ]);
        assert!(!argument_comment(&text, "X").output && argument_comment(&text, "FVEC").output);
        assert!(
            argument_comment(&text, "WA2").workspace && argument_comment(&text, "IWA").workspace
        );
        assert!(
            !argument_comment(&text, "X").workspace && !argument_comment(&text, "WS").workspace
        );
        assert!(argument_comment(&text, "IPVT").output);
        let lwa = argument_comment(&text, "LWA");
        assert_eq!(lwa.least.as_deref(), Some("m*n+5*n+m"));
        let lrw = argument_comment(&text, "LRW");
        assert_eq!(lrw.length_of.as_deref(), Some("rwork"));
        assert_eq!(argument_comment(&text, "LW").length_of, None);
        let info = argument_comment(&text, "INFO");
        assert!(info.output);
        let meanings = meanings("INFO", &info.lines);
        assert_eq!(meanings.len(), 2);
        assert_eq!(
            meanings[1].text,
            "the error between x and the solution is at most tol."
        );
    }
}
