//! Extracts what lists of arguments in comments say about each of them, in the styles of AMOS, FITPACK,
//! QUADPACK and SLATEC.
//!
//! ```text
//!         INPUT      ZR,ZI ARE DOUBLE PRECISION        input parameters:
//!           ZR,ZI  - Z=CMPLX(ZR,ZI)                      x   : array,length m, with the points.
//!         OUTPUT     CYR ARE DOUBLE PRECISION            wrk : array of dimension lwrk. used as workspace.
//!           CYR    - VECTORS WITH N COMPONENTS           lwrk: integer, the dimension of wrk. lwrk >= 2*m
//!           IERR   - ERROR FLAG                        output parameter:
//!                    IERR=0, NORMAL RETURN               ier : error flag
//!                    IERR=1, INPUT ERROR                  ier = 10 : invalid input data
//!
//!      IOPT :IN     whether it goes on                 on return
//!      IDID :OUT    what it did                          abserr - double precision
//! ```
//!
//! A list has a line for each argument, or for several that have a description in common, and more of the
//! description in lines with more indentation. Descriptions that leave a doubt, such as those of arguments that
//! matter only in some cases, or "between calls", say nothing.

use super::argument_comments::{ArgumentComment, Meaning};

/// How a subprogram uses an argument, according to a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Input,
    Output,
    Both,
    Workspace,
}

/// The descriptions of arguments in comments.
#[derive(Debug, Default)]
pub(super) struct ArgumentList {
    entries: Vec<Entry>,
}

/// The description of one argument, or of several.
#[derive(Debug)]
struct Entry {
    /// In upper case.
    names: Vec<String>,
    /// The direction in a tag, as `:OUT`, or that of the section.
    direction: Option<Direction>,
    lines: Vec<String>,
    indent: usize,
    /// The column of the description.
    column: usize,
}

/// The first line of a description.
struct Head<'l> {
    names: Vec<String>,
    tag: Option<Direction>,
    separator: Separator,
    text: &'l str,
}

/// What is between names and their description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Separator {
    /// A colon, dashes, or a tag.
    Mark,
    /// Only blanks, at least two.
    Blank,
}

impl ArgumentList {
    /// Finds the descriptions of arguments with these names.
    pub(super) fn of(comments: &[&str], names: &[&str]) -> Self {
        let mut entries: Vec<Entry> = Vec::new();
        let mut section: Option<(usize, Direction)> = None;
        let mut open = false;
        // The indentation of the last line about something that is no argument.
        let mut other: Option<usize> = None;
        let mut after_title = false;
        for line in comments {
            let line = line.trim_end();
            let indent = indent(line);
            if line.trim().is_empty() {
                continue;
            }
            let is_rule = !line.contains(|c: char| c.is_alphanumeric());
            if std::mem::take(&mut after_title) && is_rule {
                continue;
            }
            // Lists are not always aligned: what begins left of the descriptions may be the next argument.
            let next = |l: &Entry| {
                let mark = |h: Head| h.separator == Separator::Mark;
                indent < l.column && head(line, names).is_some_and(mark)
            };
            let described = entries.last_mut().filter(|l| open && indent > l.indent);
            if let Some(last) = described.filter(|l| !next(l)) {
                last.lines.push(line.trim().to_owned());
                continue;
            }
            if let Some(direction) = title(line, names) {
                section = direction.map(|d| (indent, d));
                (open, other) = (false, None);
                after_title = true;
                continue;
            }
            if let Some(last) = entries.last_mut().filter(|_| open) {
                // The names of more arguments, beside the description.
                if let Some(head) = head(line, names)
                    && head.separator == Separator::Blank
                    && indent == last.indent
                    && line.len() - head.text.len() == last.column
                {
                    last.names.extend(head.names);
                    last.lines.push(head.text.to_owned());
                    continue;
                }
                let text = line.trim().trim_end_matches(':');
                if indent == last.indent && text.eq_ignore_ascii_case("error messages") {
                    continue;
                }
            }
            if other.is_some_and(|at| indent > at) {
                continue;
            }
            other = None;
            let head = head(line, names);
            let head = head.filter(|h| h.separator == Separator::Mark || section.is_some());
            let Some(head) = head else {
                open = false;
                if section.is_some_and(|(at, _)| indent >= at) && is_of_list(line) {
                    other = Some(indent);
                } else if is_rule || section.is_some_and(|(at, _)| indent <= at) {
                    section = None;
                }
                continue;
            };
            open = true;
            entries.push(Entry {
                direction: head.tag.or(section.map(|(_, direction)| direction)),
                names: head.names,
                lines: vec![head.text.to_owned()],
                indent,
                column: line.len() - head.text.len(),
            });
        }
        ArgumentList { entries }
    }

    /// Checks whether the description of an argument is about errors.
    fn is_error_flag(&self, name: &str) -> bool {
        let own = |e: &&Entry| e.names.iter().any(|n| n.eq_ignore_ascii_case(name));
        let about = |l: &String| l.to_ascii_lowercase().contains("error");
        self.entries
            .iter()
            .filter(own)
            .any(|e| e.lines.iter().any(about))
    }

    /// Returns what the list says about an argument, if it describes it.
    pub(super) fn comment(&self, name: &str) -> Option<ArgumentComment> {
        let own = |e: &&Entry| e.names.iter().any(|n| n.eq_ignore_ascii_case(name));
        let entries: Vec<&Entry> = self.entries.iter().filter(own).collect();
        let first = entries.first()?;
        let mut lines = Vec::new();
        for entry in &entries {
            lines.extend(entry.lines.iter().cloned());
        }
        let text = lines.join(" ");
        let lower = text.to_ascii_lowercase();
        // Arguments in a list of inputs and in a list of outputs are both.
        let same = entries.iter().all(|e| e.direction == first.direction);
        let direction = first.direction.filter(|_| same);
        let workspace = is_workspace(direction, &lower);
        let output = !workspace
            && same
            && match direction {
                Some(Direction::Output) => !says(&lower, &NEEDED_ON_ENTRY),
                Some(_) => false,
                None => is_set_on_exit(&lower, &|word| self.is_error_flag(word)),
            };
        Some(ArgumentComment {
            output,
            workspace,
            enough: dimension(&text),
            work_length: work_length(name, &text),
            lines,
            ..ArgumentComment::default()
        })
    }
}

/// Words about an argument whose value on entry matters.
const NEEDED_ON_ENTRY: [&str; 8] = [
    "on entry",
    "before entry",
    "on input",
    "initial",
    "subsequent call",
    "between calls",
    "must be supplied",
    "should be set",
];

/// More of them, for descriptions that are in no list of outputs.
const PERHAPS_NEEDED: [&str; 7] = [
    "must",
    "should",
    "supply",
    "supplied",
    "unchanged",
    "input",
    "if ",
];

fn says(text: &str, words: &[&str]) -> bool {
    words.iter().any(|w| text.contains(w))
}

/// Checks a description such as `on successful exit, c contains the coefficients`, or `unless ier=10, fp contains
/// the residuals`: failures do not return the argument.
fn is_set_on_exit(lower: &str, is_error_flag: &dyn Fn(&str) -> bool) -> bool {
    let set = says(lower, &["contain", "gives", "is set to"]);
    let except = lower.split("unless ").skip(1).any(|after| {
        let end = after.find(|c: char| !c.is_ascii_alphanumeric());
        is_error_flag(&after[..end.unwrap_or(after.len())])
    });
    let at_end = except
        || says(
            lower,
            &["on exit", "on successful exit", "on return", "on output"],
        );
    if says(lower, &NEEDED_ON_ENTRY) {
        return false;
    }
    // All of the description is about the end.
    let words: Vec<&str> = lower.split_whitespace().collect();
    let types = [
        "integer",
        "real",
        "double",
        "precision",
        "logical",
        "complex",
    ];
    let start = words.iter().take_while(|w| types.contains(w)).count();
    let at_start = match words[start..] {
        ["on", end, next, ..] => {
            let end = end.trim_end_matches([',', ':']);
            matches!(end, "exit" | "return" | "output") && !matches!(next, "if" | "when" | "unless")
        }
        _ => false,
    };
    at_start || set && at_end && !says(lower, &PERHAPS_NEEDED)
}

/// Checks whether an argument is a work array whose contents do not matter before and after the call.
fn is_workspace(direction: Option<Direction>, lower: &str) -> bool {
    const WORDS: [&str; 8] = [
        "used as workspace",
        "used as working space",
        "used as work space",
        "work vector",
        "work array",
        "working array",
        "scratch",
        "used for workspace",
    ];
    // As parameters, or in a later call.
    const MATTERS: [&str; 9] = [
        "on entry",
        "on input",
        "subsequent",
        "between",
        "continu",
        "must",
        "set ",
        "unchanged",
        "optional",
    ];
    match direction {
        Some(Direction::Workspace) => !says(lower, &NEEDED_ON_ENTRY),
        Some(Direction::Both) => false,
        _ => says(lower, &WORDS) && !says(lower, &MATTERS),
    }
}

/// Returns the bounds in `real array of dimension at least (nest)`, `array,length m` or `WORK VECTORS OF DIMENSION AT
/// LEAST N`.
fn dimension(text: &str) -> Option<String> {
    const KINDS: [&str; 6] = ["array", "arrays", "vector", "vectors", "space", "workspace"];
    let lower = text.to_ascii_lowercase();
    let mut places = lower
        .match_indices("dimension")
        .chain(lower.match_indices("length"));
    let (at, word) = places.find(|(at, _)| {
        let before = lower[..*at].split(|c: char| !c.is_alphanumeric());
        let before = before.filter(|w| !w.is_empty()).rev().take(3);
        before.into_iter().any(|w| KINDS.contains(&w))
    })?;
    let mut rest = text[at + word.len()..].trim_start();
    while let Some(word) = ["at", "least", "of"].iter().find(|w| {
        let head = rest.get(..w.len() + 1);
        head.is_some_and(|h| h[..w.len()].eq_ignore_ascii_case(w) && h.ends_with(' '))
    }) {
        rest = rest[word.len()..].trim_start();
    }
    let found = expression(rest)?;
    let inner = found.strip_prefix('(').and_then(|f| f.strip_suffix(')'));
    let whole = inner.filter(|i| {
        let mut depth = 0;
        i.chars().all(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth >= 0
        })
    });
    Some(whole.map_or(found.clone(), str::to_owned))
}

/// Returns the length in `lwrk : integer, the dimension of wrk. lwrk >= mx*(kx+1)`, or `lenw must be at least 4*limit`.
fn work_length(name: &str, text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let is_length = says(&lower, &["dimension", "length", "size of"]);
    // It is more than a length if it limits or determines something else.
    let more = says(
        &lower,
        &[
            "maximum number",
            "upper bound",
            "determine",
            "estimate",
            "depend",
        ],
    );
    if !is_length || more {
        return None;
    }
    let name = name.to_ascii_lowercase();
    let mut found: Option<String> = None;
    for (at, _) in lower.match_indices(&name) {
        let before = lower[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = text[at + name.len()..].trim_start();
        let lowered = rest.to_ascii_lowercase();
        let phrases = [">=", "must be at least ", "must be no less than "];
        let Some(phrase) = phrases.iter().find(|p| lowered.starts_with(**p)) else {
            continue;
        };
        let length = expression(rest[phrase.len()..].trim_start())?;
        if found.as_ref().is_some_and(|f| *f != length) {
            return None;
        }
        found = Some(length);
    }
    found
}

/// Returns the arithmetic expression at the start of a text, unless what follows restricts it.
fn expression(text: &str) -> Option<String> {
    let operator = |c: char| matches!(c, '+' | '-' | '*' | '/');
    let mut found = String::new();
    let mut depth = 0_usize;
    let mut end = text.len();
    for (at, c) in text.char_indices() {
        let goes_on = match c {
            '(' => {
                depth += 1;
                true
            }
            ')' if depth == 0 => false,
            ')' => {
                depth -= 1;
                true
            }
            ',' => depth > 0,
            _ if c.is_whitespace() => {
                let next = text[at..].trim_start().chars().next();
                let last = found.chars().next_back();
                if depth > 0 || next.is_some_and(operator) || last.is_some_and(operator) {
                    continue;
                }
                false
            }
            _ => operator(c) || c.is_ascii_alphanumeric() || c == '_',
        };
        if !goes_on {
            end = at;
            break;
        }
        found.push(c);
    }
    let rest = text[end..].trim_start();
    let next: String = rest.chars().take_while(|c| c.is_alphabetic()).collect();
    let next = next.to_ascii_lowercase();
    let restricts = [
        "if",
        "when",
        "where",
        "with",
        "plus",
        "for",
        "unless",
        "otherwise",
        "or",
        "times",
        "words",
    ];
    let whole = depth == 0 && !found.is_empty() && !found.ends_with(operator);
    (whole && !restricts.contains(&next.as_str())).then_some(found)
}

/// Returns the values of a status and their meanings: `IERR=1, INPUT ERROR`, `ier=-1 : normal return`, `ier.gt.0 abnormal
/// termination`, `= 2 roundoff error`; with `bare` also `-1 means excess work`.
fn values(name: &str, lines: &[String], bare: bool) -> Vec<Meaning> {
    let mut found: Vec<Meaning> = Vec::new();
    for line in lines {
        let text = line.trim_start_matches(['-', '*', ' ']);
        let named = value(name, text, !found.is_empty());
        match named.or_else(|| numbered(line).filter(|_| bare)) {
            Some(meaning) => found.push(meaning),
            None => {
                if let Some(last) = found.last_mut() {
                    last.text.push(' ');
                    last.text.push_str(line.trim());
                }
            }
        }
    }
    found
}

/// Parses a line that begins with the name and a condition, or with a condition.
fn value(name: &str, line: &str, others: bool) -> Option<Meaning> {
    const RELATIONS: [(&str, &str); 11] = [
        ("<=", "<="),
        (">=", ">="),
        ("<", "<"),
        (">", ">"),
        ("=", "="),
        (".gt.", ">"),
        (".lt.", "<"),
        (".ge.", ">="),
        (".le.", "<="),
        (".eq.", "="),
        (".ne.", "/="),
    ];
    let rest = match line.get(..name.len()) {
        Some(head) if head.eq_ignore_ascii_case(name) => &line[name.len()..],
        _ if line.starts_with('=') || others && line.starts_with(['<', '>']) => line,
        _ => return None,
    };
    let rest = rest.trim_start();
    let lower = rest.to_ascii_lowercase();
    let (written, relation) = RELATIONS.iter().find(|(w, _)| lower.starts_with(w))?;
    let rest = rest[written.len()..].trim_start();
    let digits = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    let count = digits.find(|c: char| !c.is_ascii_digit());
    let length = rest.len() - digits.len() + count.unwrap_or(digits.len());
    let value = rest[..length].parse().ok()?;
    // Neither `IDID = -13,..,-32`, nor `info = 2*k`, nor `ier=10)`, which is in a sentence.
    let after = rest[length..].trim_start();
    let text = after.trim_start_matches([':', ',', '-', ' ']);
    let separated = after.len() != text.len() || rest[length..].starts_with(' ');
    let word = text.starts_with(|c: char| c.is_alphabetic());
    // In "if ier=2 then", it is in a sentence, too.
    let sentence = ["then", "and", "or", "is", "the routine"];
    let sentence = sentence
        .iter()
        .any(|w| text.to_ascii_lowercase().starts_with(&format!("{w} ")));
    (separated && word && !(sentence && after.len() == text.len())).then(|| Meaning {
        relation,
        value,
        text: text.to_owned(),
    })
}

/// Returns the lines of a summary such as this one, apart from a list:
///
/// ```text
/// ISTATE = 2  if DLSODA was successful, negative otherwise.
///         -1 means excess work done on this call.
/// ```
fn summary(name: &str, comments: &[&str]) -> Option<Vec<String>> {
    let at = comments.iter().position(|line| {
        let line = line.trim().to_ascii_lowercase();
        let named = line.strip_prefix(&name.to_ascii_lowercase());
        named.is_some_and(|l| l.trim_start().starts_with('='))
            && line.contains("negative otherwise")
    })?;
    let more = comments[at + 1..]
        .iter()
        .take_while(|l| indent(l) > indent(comments[at]));
    let lines = comments[at..=at].iter().chain(more);
    Some(lines.map(|l| l.trim().to_owned()).collect())
}

/// Parses values without the name in front: `-1 means excess work`, `-1   Excess work`.
fn numbered(line: &str) -> Option<Meaning> {
    let digits = line.strip_prefix('-').unwrap_or(line);
    let count = digits.find(|c: char| !c.is_ascii_digit())?;
    let length = line.len() - digits.len() + count;
    let value = line[..length].parse().ok()?;
    let rest = &line[length..];
    let text = rest
        .strip_prefix(" means ")
        .or_else(|| rest.strip_prefix("  "))?;
    Some(Meaning {
        relation: "=",
        value,
        text: text.trim().to_owned(),
    })
}

/// The length in bytes from which on only the first sentence of a meaning is kept.
const LONGEST: usize = 160;

/// Conditions for errors: Rust operators, and the numbers to compare with.
pub(super) type Conditions = Vec<(&'static str, i64)>;

/// Returns the values of a status that are errors, and the meanings of values, according to its description; nothing
/// if it does not say so. `known` are meanings that were found in another style; `inout` is whether the subprogram also
/// reads the status.
pub(super) fn status(
    name: &str,
    lines: &[String],
    comments: &[&str],
    known: Vec<Meaning>,
    inout: bool,
) -> Option<(Conditions, Vec<Meaning>)> {
    let summary = summary(name, comments);
    let lines = summary.as_deref().unwrap_or(lines);
    let text = lines.join(" ").to_ascii_lowercase();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let negative = says(&text, &["negative otherwise", "(otherwise, negative)"]);
    let listed = values(name, lines, negative);
    let mut meanings = match listed.len() > known.len() {
        true => listed,
        false => known,
    };
    // What is said of one value is more than what is said of many.
    meanings.sort_by_key(|m| m.relation != "=");
    // Some texts go on with advice.
    for meaning in &mut meanings {
        let end = meaning
            .text
            .find(". ")
            .filter(|_| meaning.text.len() > LONGEST);
        meaning
            .text
            .truncate(end.map_or(meaning.text.len(), |at| at + 1));
    }
    let wrong = match negative && text.contains("successful") {
        true => vec![("<", 0)],
        false => errors(name, &text, &meanings, inout)?,
    };
    Some((wrong, meanings))
}

/// Returns the values that are errors, given a description in small letters and the meanings of values.
fn errors(name: &str, text: &str, meanings: &[Meaning], inout: bool) -> Option<Conditions> {
    if text.contains("unless the routine detects an error") && text.contains("non-positive value") {
        return Some(vec![(">", 0)]);
    }
    if text.contains("reported by negative values of") {
        return Some(vec![("<", 0)]);
    }
    if inout {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    // An abnormal end may also be in the list, value by value.
    let abnormal = |m: &&Meaning| {
        let text = m.text.to_ascii_lowercase();
        text.starts_with("abnormal termination") || m.relation != "=" && text.contains("error")
    };
    if let Some(m) = meanings.iter().find(abnormal) {
        let equal = || meanings.iter().filter(|m| m.relation == "=");
        let mut good = equal().filter(|o| is_success(o));
        // Whether the value is one of those that are errors.
        let wrong = |value: i64| match m.relation {
            ">" => value > m.value,
            "<" => value < m.value,
            _ => false,
        };
        return Some(match (good.next(), good.next()) {
            (Some(only), None) if equal().all(|o| o.value == only.value || wrong(o.value)) => {
                vec![("!=", only.value)]
            }
            _ => vec![(rust(m.relation), m.value)],
        });
    }
    // An indicator of something else, such as underflow, has a normal value, too.
    if meanings.iter().any(|m| m.relation != "=")
        || !says(
            text,
            &["error", "success", "improper", "illegal", "invalid"],
        )
    {
        return None;
    }
    let (good, bad): (Vec<&Meaning>, Vec<&Meaning>) = meanings.iter().partition(|m| is_success(m));
    let (least, most) = (
        bad.iter().map(|m| m.value).min()?,
        bad.iter().map(|m| m.value).max()?,
    );
    let all = |test: &dyn Fn(i64) -> bool| good.iter().all(|m| test(m.value));
    if let [only] = good[..] {
        return Some(vec![("!=", only.value)]);
    }
    if good.is_empty() {
        // Success may have several values; none of them says that the input is wrong.
        let wrong = |m: &&&Meaning| {
            let text = m.text.to_ascii_lowercase();
            let words = ["improper input", "invalid input", "illegal input"];
            words.iter().any(|w| text.starts_with(w))
        };
        let wrong: Vec<(&str, i64)> = bad.iter().filter(wrong).map(|m| ("==", m.value)).collect();
        let described = text.contains(&lower) && !wrong.is_empty();
        return described.then_some(wrong);
    }
    Some(match () {
        () if most < 0 && all(&|v| v >= 0) => vec![("<", 0)],
        () if least > 0 && all(&|v| v <= 0) => vec![(">", 0)],
        () => bad.iter().map(|m| ("==", m.value)).collect(),
    })
}

fn rust(relation: &'static str) -> &'static str {
    match relation {
        "=" => "==",
        "/=" => "!=",
        other => other,
    }
}

/// Checks whether a value means that the computation has been done.
fn is_success(meaning: &Meaning) -> bool {
    let text = meaning.text.to_ascii_lowercase();
    // The first sentence; what follows may be about other values. "Comput." is none.
    let end = text
        .match_indices(". ")
        .find(|(at, _)| text[..*at].contains(' '));
    let first = &text[..end.map_or(text.len(), |(at, _)| at)];
    !says(first, &["unsuccess", "not success", "no success"])
        && says(
            first,
            &[
                "success",
                "normal return",
                "normal and reliable",
                "normal completion",
                "no error",
                "computation completed",
                "computation done",
            ],
        )
}

/// Returns the column of the text of a line, behind a mark such as a star.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '*']).len()
}

/// Reads a line that says what the following list contains, such as `output parameters:` or `OUTPUT     CYR,CYI ARE
/// DOUBLE PRECISION`. Other titles, such as `parameters`, give no direction.
fn title(line: &str, names: &[&str]) -> Option<Option<Direction>> {
    let text = line.trim().trim_matches(['*', '-', ':', '=', '.', ' ']);
    let lower = text.to_ascii_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    let of = |word: &str| match word {
        "input" | "inputs" | "entry" => Some(Direction::Input),
        "output" | "outputs" | "return" | "exit" => Some(Direction::Output),
        "input/output" | "in/out" | "inout" => Some(Direction::Both),
        _ => None,
    };
    const THINGS: [&str; 8] = [
        "parameter",
        "parameters",
        "argument",
        "arguments",
        "variable",
        "variables",
        "list",
        "quantities",
    ];
    // `Output parameters of NLEQ1`
    let words = match words[..] {
        [ref before @ .., "of", _] if before.len() > 1 => before,
        _ => &words[..],
    };
    match *words {
        ["parameters" | "arguments"] | ["dimensioning", "parameters"] => Some(None),
        ["work", "array" | "arrays"]
        | ["workspace" | "workspaces"]
        | ["work" | "working", "space" | "storage"] => Some(Some(Direction::Workspace)),
        ["on", word] | [word] => of(word).map(Some),
        [word, ref rest @ ..] if rest.iter().all(|w| THINGS.contains(w)) => of(word).map(Some),
        [word, ..] if matches!(word, "input" | "output") => {
            // What follows names arguments.
            let rest = text[word.len()..].strip_prefix("  ")?.trim_start();
            let list = rest.split([' ', '\t']).next().unwrap_or_default();
            let known = |n: &str| names.iter().any(|k| k.eq_ignore_ascii_case(n));
            list.split(',').all(known).then(|| of(word))
        }
        _ => None,
    }
}

/// Reads the names at the start of a line, all of them arguments, and what follows: `CYR,CYI- DOUBLE PRECISION`,
/// `ISTATE:INOUT  Index`, `rtol(*) : array`.
fn head<'l>(line: &'l str, names: &[&str]) -> Option<Head<'l>> {
    // A mark in front may be a footnote.
    let mut rest = line.trim_start().trim_start_matches("* ").trim_start();
    let mut found = Vec::new();
    let blanks = loop {
        let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let (name, after) = rest.split_at(length.unwrap_or(rest.len()));
        let known = names.iter().any(|n| n.eq_ignore_ascii_case(name));
        if !known {
            return None;
        }
        found.push(name.to_ascii_uppercase());
        let mut after = after;
        if after.starts_with('(') {
            after = after.split_once(')')?.1;
        }
        let next = after.trim_start();
        let blanks = after.len() - next.len();
        rest = next;
        match next.strip_prefix(',') {
            Some(more) => {
                rest = more.trim_start();
                if rest.starts_with(['-', ':']) {
                    break blanks;
                }
            }
            None => break blanks,
        }
    };
    let tagged = rest.strip_prefix(':').and_then(|after| {
        let end = after
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let tag = tag(&after[..end])?;
        let text = &after[end..];
        (text.is_empty() || text.starts_with(' ')).then_some((tag, text))
    });
    let in_parentheses = rest.strip_prefix('(').and_then(|after| {
        let (inside, text) = after.split_once(')')?;
        Some((tag(inside.trim())?, text))
    });
    let (tag, separator, text) = if let Some((tag, text)) = tagged.or(in_parentheses) {
        (Some(tag), Separator::Mark, text)
    } else if let Some(text) = rest.strip_prefix("--") {
        (None, Separator::Mark, text)
    } else if let Some(text) = rest
        .strip_prefix(':')
        .filter(|t| !t.starts_with(['=', ':']))
    {
        (None, Separator::Mark, text)
    } else if let Some(text) = rest.strip_prefix("- ") {
        (None, Separator::Mark, text)
    } else if let Some(text) = rest
        .strip_prefix("= ")
        .filter(|t| blanks > 0 && is_sentence(t))
    {
        (None, Separator::Mark, text)
    } else if blanks > 1 && rest.starts_with(|c: char| c.is_alphanumeric()) {
        (None, Separator::Blank, rest)
    } else {
        return None;
    };
    let text = text.trim_start();
    Some(Head {
        names: found,
        tag,
        separator,
        text,
    })
}

/// Checks whether a line of a list is about something that is no argument: `H      PREDICTED STEP SIZE`.
fn is_of_list(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches("* ").trim_start();
    let length = line.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | ',')));
    let (name, rest) = line.split_at(length.unwrap_or(line.len()));
    let rest = match rest.strip_prefix('(') {
        Some(more) => more.split_once(')').map_or("", |(_, rest)| rest),
        None => rest,
    };
    let described = rest.trim_start();
    let text = described.trim_start_matches([':', '-', ' ']);
    let marked = text.len() < described.len();
    !name.is_empty() && !text.is_empty() && (rest.starts_with("  ") || marked)
}

/// Checks whether a text begins with two words, so that it is not a formula.
fn is_sentence(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let word = |w: Option<&str>| {
        w.is_some_and(|w| {
            w.len() > 1
                && w.chars()
                    .all(|c| c.is_alphabetic() || matches!(c, '-' | ','))
        })
    };
    word(words.next()) && word(words.next())
}

fn tag(text: &str) -> Option<Direction> {
    Some(match text.to_ascii_lowercase().as_str() {
        "in" | "input" => Direction::Input,
        "out" | "output" => Direction::Output,
        "inout" | "in/out" | "input/output" | "in,out" | "input and output" => Direction::Both,
        "work" | "workspace" => Direction::Workspace,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str, names: &[&str]) -> ArgumentList {
        let lines: Vec<&str> = text.lines().collect();
        ArgumentList::of(&lines, names)
    }

    /// What a list says about arguments.
    #[track_caller]
    fn check(text: &str, names: &[&str], expected: &[&str]) {
        let list = list(text, names);
        let shown: Vec<String> = names
            .iter()
            .map(|name| {
                let Some(c) = list.comment(name) else {
                    return format!("{name} -");
                };
                let mut t = (*name).to_owned();
                t += if c.output { " output" } else { "" };
                t += if c.workspace { " workspace" } else { "" };
                for (word, value) in [("dimension", c.enough), ("length", c.work_length)] {
                    t += &value.map_or(String::new(), |v| format!(" {word} {v}"));
                }
                t
            })
            .collect();
        assert_eq!(shown, expected, "{text}");
    }

    /// The conditions for errors, and the number of meanings.
    #[track_caller]
    fn wrong(text: &str, name: &str, inout: bool) -> String {
        let list = list(text, &[name]);
        let lines = list.comment(name).map(|c| c.lines).unwrap_or_default();
        let comments: Vec<&str> = text.lines().collect();
        match status(name, &lines, &comments, Vec::new(), inout) {
            Some((wrong, meanings)) => {
                let wrong: Vec<String> = wrong.iter().map(|(o, v)| format!("{o} {v}")).collect();
                format!("{} of {}", wrong.join(", "), meanings.len())
            }
            None => "nothing".to_owned(),
        }
    }

    const AMOS: &str = "
         INPUT      ZR,ZI,FNU ARE DOUBLE PRECISION
           ZR,ZI  - Z=CMPLX(ZR,ZI), Z.NE.CMPLX(0.0D0,0.0D0),
                    -PI.LT.ARG(Z).LE.PI
           FNU    - ORDER OF INITIAL Y FUNCTION, FNU.GE.0.0D0
           N      - NUMBER OF MEMBERS OF THE SEQUENCE, N.GE.1
           CWRKR, - DOUBLE PRECISION WORK VECTORS OF DIMENSION AT
           CWRKI    AT LEAST N

         OUTPUT     CYR,CYI ARE DOUBLE PRECISION
           CYR,CYI- DOUBLE PRECISION VECTORS WHOSE FIRST N COMPONENTS
                    CONTAIN REAL AND IMAGINARY PARTS FOR THE SEQUENCE
           NZ     - UNDERFLOW INDICATOR
                    NZ= 0   , NORMAL RETURN
                    NZ= 1   , AI=CMPLX(0.0D0,0.0D0) DUE TO UNDERFLOW
           IERR   - ERROR FLAG
                    IERR=0, NORMAL RETURN - COMPUTATION COMPLETED
                    IERR=1, INPUT ERROR   - NO COMPUTATION
                    IERR=2, OVERFLOW      - NO COMPUTATION, FNU IS
                            TOO LARGE OR CABS(Z) IS TOO SMALL OR BOTH
                    IERR=3, CABS(Z) OR FNU+N-1 LARGE - COMPUTATION DONE
                            BUT LOSSES OF SIGNIFCANCE

***LONG DESCRIPTION

         FNU  - IS NOT IN THE LIST OF OUTPUTS.
";

    #[test]
    fn amos() {
        let names = [
            "ZR", "ZI", "FNU", "N", "CWRKR", "CWRKI", "CYR", "CYI", "NZ", "IERR",
        ];
        check(
            AMOS,
            &names,
            &[
                "ZR",
                "ZI",
                "FNU",
                "N",
                "CWRKR workspace dimension N",
                "CWRKI workspace dimension N",
                "CYR output",
                "CYI output",
                "NZ output",
                "IERR output",
            ],
        );
        // A result of less accuracy is one.
        assert_eq!(wrong(AMOS, "IERR", false), "== 1, == 2 of 4");
        // What is set to zero is no error.
        assert_eq!(wrong(AMOS, "NZ", false), "nothing");
    }

    #[test]
    fn fitpack() {
        let text = "
  parameters:
   iopt  : integer flag. on entry iopt must specify whether to go on.
           unchanged on exit.
   n     : integer.
           unless ier =10 (in case iopt >=0), n will contain the
           total number of knots of the spline approximation returned.
           if the computation mode iopt=1 is used this value of n
           should be left unchanged between subsequent calls.
   c     : real array of dimension at least (nest).
           on successful exit, this array will contain the coefficients
           c(1),c(2),..,c(n-k-1) in the b-spline representation of s(x)
   fp    : real. unless ier=10, fp contains the weighted sum of
           squared residuals of the spline approximation returned.
   wrk   : real array of dimension at least (m*(k+1)+nest*(7+3*k)).
           used as working space. if the computation mode iopt=1 is
           used, the values wrk(1),...,wrk(n) should be left unchanged
           between subsequent calls.
   ier   : integer. unless the routine detects an error, ier contains a
           non-positive value on exit, i.e.
    ier=0  : normal return. the spline returned has a residual sum of
             squares fp such that abs(fp-s)/s <= tol.
    ier=-1 : normal return. the spline returned is an interpolating
    ier=10 : error. on entry, the input data are controlled on validity
";
        check(
            text,
            &["IOPT", "N", "C", "FP", "WRK", "IER"],
            &[
                "IOPT",
                "N",
                "C output dimension nest",
                "FP output",
                "WRK dimension m*(k+1)+nest*(7+3*k)",
                "IER",
            ],
        );
        assert_eq!(wrong(text, "IER", false), "> 0 of 3");

        let grid = "
  input parameters:
   c     : real array, length (nx-kx-1)*(ny-ky-1), which contains the
           b-spline coefficients.
   xb,xe : real values. they are the ends
   yb,ye   of the rectangle.
   wrk   : real array of dimension lwrk. used as workspace.
   lwrk  : integer, specifying the dimension of wrk.
           lwrk >= mx*(kx+1)+my*(ky+1)
   iwrk  : integer array of dimension kwrk. used as workspace.
   kwrk  : integer, specifying the dimension of iwrk. kwrk >= mx+my.

  output parameters:
   z     : real array of dimension (mx*my).
   ier   : integer error flag
    ier=0 : normal return
    ier=10: invalid input data (see restrictions)

  restrictions:
   mx >=1, my >=1, lwrk>=mx*(kx+1)+my*(ky+1), kwrk>=mx+my
   mx    : this is not in the list.
";
        check(
            grid,
            &[
                "C", "XB", "XE", "YB", "YE", "WRK", "LWRK", "IWRK", "KWRK", "Z", "IER", "MX",
            ],
            &[
                "C dimension (nx-kx-1)*(ny-ky-1)",
                "XB",
                "XE",
                "YB",
                "YE",
                "WRK workspace dimension lwrk",
                "LWRK length mx*(kx+1)+my*(ky+1)",
                "IWRK workspace dimension kwrk",
                "KWRK length mx+my",
                "Z output dimension mx*my",
                "IER output",
                "MX",
            ],
        );
        assert_eq!(wrong(grid, "IER", false), "!= 0 of 2");
    }

    #[test]
    fn quadpack() {
        let text = "
        parameters
         on entry
            a      - double precision
                     lower limit of integration

         on return
            result - double precision
                     approximation to the integral

            ier    - integer
                     ier = 0 normal and reliable termination of the
                             routine.
                   - ier.gt.0 abnormal termination of the routine.
            error messages
                     ier = 1 maximum number of subdivisions allowed
                             (= leniw/2) has been achieved.
                         = 2 the occurrence of roundoff error is
                             detected

         dimensioning parameters
            limit - integer
                    dimensioning parameter for iwork
                    limit determines the maximum number of subintervals, limit must be at least 1.
           lenw   - integer
                    dimensioning parameter for work
                    lenw must be at least limit*4.
                    if lenw.lt.limit*4, the routine will end

            last  - integer
                    on return, last equals the number of subintervals

         work arrays
            iwork - integer
                    vector of dimension at least limit
            work  - double precision
                    vector of dimension at least lenw
                    on return
                    work(1), ..., work(last) contain the left ends
***references  (none)
";
        check(
            text,
            &[
                "A", "RESULT", "IER", "LIMIT", "LENW", "LAST", "IWORK", "WORK",
            ],
            &[
                "A",
                "RESULT output",
                "IER output",
                "LIMIT",
                "LENW length limit*4",
                "LAST output",
                "IWORK workspace dimension limit",
                "WORK workspace dimension lenw",
            ],
        );
        assert_eq!(wrong(text, "IER", false), "!= 0 of 4");
    }

    #[test]
    fn slatec() {
        let text = "
 *Arguments:
  NEQ:IN   is the number of equations.
  T:INOUT  is the current value.
  IDID:OUT  reports what was done.
  RWORK:WORK  A real work array of length LRW which provides storage.
  X(N) (input) are the points.
  V (in/out) is changed.
  Y,Z (output) are the values.
  LRW:IN   The length of RWORK.
";
        check(
            text,
            &["NEQ", "T", "IDID", "RWORK", "X", "V", "Y", "Z"],
            &[
                "NEQ",
                "T",
                "IDID output",
                "RWORK workspace dimension LRW",
                "X",
                "V",
                "Y output",
                "Z output",
            ],
        );
        let both = "
     INPUT PARAMETERS
     ----------------
     X           INITIAL X-VALUE
     WORK        ARRAY OF WORKING SPACE OF LENGTH \"LWORK\".
                 SET THEM TO ZERO BEFORE CALLING.
---------------------------------------------------------
     OUTPUT PARAMETERS
     -----------------
     X           X-VALUE FOR WHICH THE SOLUTION HAS BEEN COMPUTED
     H           STEP SIZE
                 X     IS NOT WHAT THIS IS ABOUT
     IDID        REPORTS ON SUCCESSFULNESS UPON RETURN:
                   IDID= 1  COMPUTATION SUCCESSFUL,
                   IDID= 2  COMPUT. SUCCESSFUL (INTERRUPTED BY SOLOUT)
                   IDID=-1  INPUT IS NOT CONSISTENT,
                   IDID=-2  LARGER NMAX IS NEEDED,
";
        check(both, &["X", "WORK", "IDID"], &["X", "WORK", "IDID output"]);
        assert_eq!(wrong(both, "IDID", false), "< 0 of 4");
    }

    #[test]
    fn codelib() {
        let text = "
*    Input parameters of SOLVE
     =========================

     N              Int    Number of unknowns
   * X(N)           Dble   Initial estimate of the solution

*    Output parameters of SOLVE
     ==========================

   * X(N)           Dble   Solution values
     F(N)           Dble   Residuals
     IERR           Int    Return value parameter
                           =-1 sucessfull completion of one step
                           = 0 successfull completion
                           > 0 see list of error messages below
     Note 1.
     N              is not an output.
";
        check(
            text,
            &["N", "X", "F", "IERR"],
            &["N", "X", "F output", "IERR output"],
        );
        assert_eq!(wrong(text, "IERR", false), "> 0 of 3");
    }

    #[test]
    fn a_status_that_is_read_as_well() {
        let text = "
 ISTATE = 2  if DLSODA was successful, negative otherwise.
          -1 means excess work done on this call.
          -2 means excess accuracy requested.
";
        assert_eq!(wrong(text, "ISTATE", true), "< 0 of 3");
        let tag = "
     ISTATE:INOUT  Index used for input and output.
                   Output:
                    2   DLSODE was successful (otherwise, negative).
                   -1   Excess work done on this call.
";
        assert_eq!(wrong(tag, "ISTATE", true), "< 0 of 2");
        let reported = "
  IDID -- Reports what the code did.

                     *** Task completed ***
                Reported by positive values of IDID
           IDID = 1 -- A step was successfully taken
                    *** Task interrupted ***
                Reported by negative values of IDID
           IDID = -1 -- A large amount of work has been expended.
           IDID = -13,..,-32 -- Not applicable for this code
";
        assert_eq!(wrong(reported, "IDID", true), "< 0 of 2");
        // Reverse communication: values that ask for something.
        let asks = "
  MODE : what is to be done next
    MODE = 0 : successful
    MODE = 1 : the function is needed, no error
    MODE = 2 : invalid input
";
        assert_eq!(wrong(asks, "MODE", true), "nothing");
    }

    /// Descriptions that say something only under a condition, or nothing.
    #[test]
    fn what_is_in_doubt() {
        let text = "
  a     : on exit, if job = 1, a contains the factor
  b     : array of length 2*n if job = 1, of length n otherwise. on exit contains b
  lw    : the length of w. lw >= 5*n if job = 1
  lv    : the length of v. lv >= 5*n, and later lv >= 7*n
  w     : work array of length lw. w must be zero.
  c - d is the difference of length n
  e = 2*x
  f : the result
";
        let names = ["A", "B", "LW", "LV", "W", "C", "D", "E", "F"];
        check(
            text,
            &names,
            &[
                "A",
                "B",
                "LW",
                "LV",
                "W dimension lw",
                "C",
                "D -",
                "E -",
                "F",
            ],
        );
        // As in books: which arguments change is in sentences.
        let book = "
 Given a matrix a(1:n,1:n), with physical dimension np by np, this routine
 replaces it by the LU decomposition of a rowwise permutation of itself.
 a and n are input. a is output, arranged as in equation (2.3.14) above;
 indx(1:n) is an output vector that records the row permutation; d
 is output as +-1.
";
        check(
            book,
            &["A", "N", "NP", "INDX", "D"],
            &["A -", "N -", "NP -", "INDX -", "D -"],
        );
    }
}
