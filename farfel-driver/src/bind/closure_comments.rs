//! Extracts what comments say about the arguments of a procedure that the user passes.
//!
//! A description begins with the head of the procedure, and states which arguments are inputs, in one of
//! these forms:
//!
//! ```text
//!         SUBROUTINE F (NEQ, T, Y, YDOT)           subroutine fcn(n,x,fvec,iflag)
//!         DOUBLE PRECISION T, Y(*), YDOT(*)        integer n,iflag
//!      where NEQ, T, and Y are input, and the      double precision x(n),fvec(n)
//!      array YDOT = f(T,Y) is output.              calculate the functions at x and
//!      Subroutine F should not alter Y.            return this vector in fvec.
//!
//!   FCN(N,X,F,IFAIL) Ext    Function subroutine
//!     X(N)           Dble   Vector of unknowns (input)
//!
//!      SUBROUTINE COMPUTING THE VALUE OF F(X,Y):
//!         SUBROUTINE FCN(N,X,Y,F)
//! ```
//!
//! Nothing is guessed: an argument may be assigned if these forms say nothing of it, if something is stored in
//! it, or if it is called an output, too.

use std::collections::BTreeSet;

/// Checks whether comments have the head of the procedure `name`.
pub(super) fn has_head(comments: &[&str], name: &str) -> bool {
    let mut heads = (0..comments.len()).filter_map(|at| Head::at(comments, at));
    heads.any(|h| h.name.eq_ignore_ascii_case(name))
}

/// Returns the positions of the arguments that comments call inputs of the procedure `name`, which has `count`
/// arguments.
pub(super) fn inputs(comments: &[&str], name: &str, count: usize) -> BTreeSet<usize> {
    let (mut inputs, mut outputs) = (BTreeSet::new(), BTreeSet::new());
    for at in 0..comments.len() {
        let Some(head) = Head::at(comments, at).filter(|h| h.is_of(name, count)) else {
            continue;
        };
        let lines = described(comments, &head);
        for line in lines {
            head.line(line, &mut inputs, &mut outputs);
        }
        for sentence in sentences(lines) {
            head.sentence(&words(&sentence), &mut inputs, &mut outputs);
        }
        inputs.extend(head.value_of(&comments[at.saturating_sub(2)..at]));
    }
    &inputs - &outputs
}

/// The head of a procedure in comments: `SUBROUTINE F (NEQ, T, Y, YDOT)`.
struct Head<'c> {
    name: &'c str,
    arguments: Vec<&'c str>,
    /// Whether it is a Fortran statement. Otherwise a list of the arguments follows, with deeper indentation.
    statement: bool,
    /// The lines that it takes.
    from: usize,
    to: usize,
}

impl<'c> Head<'c> {
    /// Reads a head that begins in a line, and may be continued.
    fn at(comments: &[&'c str], from: usize) -> Option<Self> {
        let line = comments[from].trim();
        let word = line.get(.."SUBROUTINE".len());
        let statement = word.is_some_and(|w| w.eq_ignore_ascii_case("SUBROUTINE"));
        let text = if statement {
            &line["SUBROUTINE".len()..]
        } else {
            line
        };
        let (name, mut list) = text.split_once('(')?;
        let name = name.trim();
        if !is_name(name) {
            return None;
        }
        let mut arguments = Vec::new();
        let mut to = from;
        loop {
            let closed = list.find(')');
            let names = list[..closed.unwrap_or(list.len())].split(',');
            // A digit in front marks a continuation line.
            let names = names.filter_map(|n| n.split_whitespace().rfind(|w| is_name(w)));
            arguments.extend(names);
            if closed.is_some() {
                break;
            }
            to += 1;
            list = comments.get(to).filter(|_| to < from + 6)?;
        }
        Some(Head {
            name,
            arguments,
            statement,
            from,
            to,
        })
    }

    fn is_of(&self, name: &str, count: usize) -> bool {
        let distinct: BTreeSet<&&str> = self.arguments.iter().collect();
        self.name.eq_ignore_ascii_case(name)
            && self.arguments.len() == count
            && distinct.len() == count
    }

    /// Returns the position of the argument that a word names. `a` and `I` are also words.
    fn position(&self, word: &str) -> Option<usize> {
        let exactly = matches!(word, "a" | "I");
        self.arguments.iter().position(|a| match exactly {
            true => *a == word,
            false => a.eq_ignore_ascii_case(word),
        })
    }

    /// Reads `X(N)   Dble   Vector of unknowns (input)`.
    fn line(&self, line: &str, inputs: &mut BTreeSet<usize>, outputs: &mut BTreeSet<usize>) {
        let line = line.trim();
        let length = line.find(|c: char| !is_in_name(c)).unwrap_or(line.len());
        let Some(position) = self.position(&line[..length]) else {
            return;
        };
        let text = line.to_ascii_lowercase();
        if text.ends_with("(input)") {
            inputs.insert(position);
        }
        if text.ends_with("(output)") || text.ends_with("(inout)") {
            outputs.insert(position);
        }
    }

    /// Reads `computing the value of F(X,Y)` in the lines before the head: the arguments X and Y.
    fn value_of(&self, before: &[&str]) -> Vec<usize> {
        let text: Vec<&str> = before.iter().map(|l| l.trim()).collect();
        let text = text.join(" ");
        let start = text.to_ascii_lowercase().rfind("value of ");
        let formula = start.map_or("", |at| &text[at + "value of ".len()..]);
        let Some((name, rest)) = formula.split_once('(') else {
            return Vec::new();
        };
        let names = rest
            .split_once(')')
            .map_or("", |(names, _)| names)
            .split(',');
        let positions: Option<Vec<usize>> = names.map(|n| self.position(n.trim())).collect();
        let own = self.position(name.trim());
        let positions = positions.filter(|p| own.is_some_and(|own| !p.contains(&own)));
        positions.unwrap_or_default()
    }

    fn sentence(
        &self,
        words: &[String],
        inputs: &mut BTreeSet<usize>,
        outputs: &mut BTreeSet<usize>,
    ) {
        let word = |i: usize| words.get(i).map_or("", String::as_str);
        let lower = |i: usize| word(i).to_ascii_lowercase();
        // Work arrays that "must not be altered between calls" are those of the solver.
        let between = (0..words.len()).any(|i| lower(i) == "between");
        let stores = (0..words.len()).any(|i| STORES.contains(&&*lower(i)));
        for i in 0..words.len() {
            let subject = || self.subject(&words[..i]);
            match (&*lower(i), &*lower(i + 1)) {
                ("is" | "are", "input" | "inputs") => inputs.extend(subject()),
                // "JOK is an input flag".
                ("is", "a" | "an") if &*lower(i + 2) == "input" => inputs.extend(subject()),
                // "JAC may alter Y and V, but not YSV or HL0".
                ("but", "not")
                    if !between
                        && words[..i].iter().any(|w| {
                            matches!(&*w.to_ascii_lowercase(), "alter" | "change" | "modify")
                        }) =>
                {
                    inputs.extend(self.list(words.iter().skip(i + 2)));
                }
                ("is" | "are", "output" | "outputs") => outputs.extend(subject()),
                ("should" | "must" | "may", "not") if !between => match &*lower(i + 2) {
                    "alter" | "change" | "modify" => {
                        inputs.extend(self.list(words.iter().skip(i + 3)));
                    }
                    "be" if matches!(&*lower(i + 3), "altered" | "changed" | "modified") => {
                        let limited = matches!(&*lower(i + 4), "by" | "unless" | "except");
                        inputs.extend(subject().filter(|_| !limited));
                    }
                    _ => {}
                },
                ("at", _) => {
                    let computes = |w: &String| {
                        let verbs = ["calculate", "evaluate", "compute"];
                        verbs
                            .iter()
                            .any(|v| w.to_ascii_lowercase().trim_end_matches('s') == *v)
                    };
                    if words[..i].iter().any(computes) {
                        inputs.extend(self.list(words.iter().skip(i + 1)));
                    }
                }
                ("is" | "are", "to")
                    if &*lower(i + 2) == "be" && STORES.contains(&&*lower(i + 3)) =>
                {
                    outputs.extend(subject());
                }
                ("load" | "loading" | "set" | "setting", _) => {
                    outputs.extend(self.list(words.iter().skip(i + 1)));
                }
                // "Return this vector in fvec", "add the column to the array P"; but not "with respect to Y".
                ("in" | "into" | "to", _) if i > 0 && lower(i - 1) != "respect" && stores => {
                    outputs.extend(self.list(words.iter().skip(i + 1)));
                }
                _ => {}
            }
        }
    }

    /// Returns the arguments that the end of a sentence's first part names: those in a list such as `NEQ, T, and the
    /// array Y`, in `the array YDOT = f(T,Y)` YDOT, and in `the array PDJ, of length NEQ,` PDJ.
    fn subject(&self, words: &[String]) -> impl Iterator<Item = usize> {
        let aside = words
            .iter()
            .rposition(|w| w == "=" || w.eq_ignore_ascii_case("length"));
        let apart = aside.filter(|at| {
            let rest = &words[at + 1..];
            rest.iter()
                .all(|w| is_formula(w) || self.position(w).is_some())
        });
        let words = &words[..apart.unwrap_or(words.len())];
        self.list(
            words
                .iter()
                .rev()
                .skip_while(|w| w.eq_ignore_ascii_case("of")),
        )
    }

    /// Returns the arguments in a list such as `NEQ, T, and the array Y`.
    fn list<'w>(&self, words: impl Iterator<Item = &'w String>) -> impl Iterator<Item = usize> {
        const BETWEEN: [&str; 12] = [
            "and",
            "or",
            "the",
            "both",
            "array",
            "arrays",
            "vector",
            "vectors",
            "argument",
            "arguments",
            "scalar",
            "its",
        ];
        let mut found = Vec::new();
        for word in words {
            let lower = word.to_ascii_lowercase();
            if let Some(position) = self.position(word) {
                found.push(position);
            } else if !BETWEEN.contains(&&*lower) {
                break;
            }
        }
        found.into_iter()
    }
}

/// Words of sentences about what becomes of an output.
const STORES: [&str; 14] = [
    "add", "added", "adds", "load", "loaded", "loads", "return", "returned", "returns", "set",
    "sets", "store", "stored", "stores",
];

/// A function in a formula; its arguments have been removed.
fn is_formula(word: &str) -> bool {
    matches!(word, "f" | "g" | "F" | "G")
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(is_in_name)
}

fn is_in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns the column in which the text of a comment line begins, behind the mark of the comment.
fn indent(line: &str) -> usize {
    let blank = line.chars().take_while(|c| c.is_whitespace());
    let column = |column: usize, c| match c {
        '\t' => (column / 8 + 1) * 8,
        _ => column + 1,
    };
    blank.fold(1, column)
}

/// Returns the lines that belong to a head: up to the next head, or to the first line with less indentation
/// than the text around the head has.
fn described<'l, 'c>(comments: &'l [&'c str], head: &Head) -> &'l [&'c str] {
    let is_blank = |l: &&&str| l.trim().is_empty();
    let own = indent(comments[head.from]);
    let after = &comments[head.to + 1..];
    let before = comments[..head.from].iter().rfind(|l| !is_blank(l));
    let before = before.map_or(0, |l| indent(l));
    // Declarations may be continued further left, after a digit.
    let continues = |l: &str| l.trim_start().starts_with(|c: char| c.is_ascii_digit());
    let text = after
        .iter()
        .find(|l| !is_blank(l) && indent(l) < own && !continues(l));
    let base = before
        .saturating_sub(1)
        .max(text.map_or(0, |l| indent(l)))
        .min(own);
    let ends = |(i, line): (usize, &&str)| match (line.trim().is_empty(), head.statement) {
        (true, _) => false,
        (_, true) => {
            let statement = Head::at(comments, head.to + 1 + i).is_some_and(|h| h.statement);
            indent(line) < base || statement
        }
        (_, false) => indent(line) <= own,
    };
    let end = after.iter().enumerate().position(ends);
    &after[..end.unwrap_or(after.len())]
}

/// Divides lines into sentences.
fn sentences(lines: &[&str]) -> Vec<String> {
    let mut all = vec![String::new()];
    for line in lines {
        let line = line.trim();
        if line.is_empty() || line.chars().all(|c| !c.is_alphanumeric()) {
            all.push(String::new());
            continue;
        }
        for (i, part) in format!("{line} ").split(". ").enumerate() {
            if i > 0 {
                all.push(String::new());
            }
            if let Some(last) = all.last_mut() {
                last.push_str(part);
                last.push(' ');
            }
        }
    }
    all
}

/// Divides a sentence into words, without subscripts and arguments in parentheses.
fn words(sentence: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut word = String::new();
    let mut depth = 0_usize;
    for c in sentence.chars().chain([' ']) {
        if depth == 0 && is_in_name(c) {
            word.push(c);
            continue;
        }
        if !word.is_empty() {
            all.push(std::mem::take(&mut word));
        }
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '=' if depth == 0 => all.push("=".to_owned()),
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::inputs;

    fn check(text: &str, name: &str, count: usize, expected: &[usize]) {
        let lines: Vec<&str> = text.lines().collect();
        let found: Vec<usize> = inputs(&lines, name, count).into_iter().collect();
        assert_eq!(found, expected, "{text}");
    }

    const SOLVER: &str = "
     F        The name of the user-supplied subroutine. It is to have the form

                 SUBROUTINE F (NEQ, T, Y, YDOT)
                 DOUBLE PRECISION  T, Y(*), YDOT(*)

              where NEQ, T, and Y are input, and the array YDOT =
              f(T,Y) is output.  Y and YDOT are arrays of length NEQ.

     NEQ      YDOT is input here, which is about something else.
";

    #[test]
    fn what_is_input() {
        check(SOLVER, "F", 4, &[0, 1, 2]);
        check(SOLVER, "F", 3, &[]);
        check(SOLVER, "G", 4, &[]);
        check("RES (T, Y, R) is called.\nR is input.", "RES", 3, &[]);
    }

    #[test]
    fn what_is_output_as_well() {
        check(
            "          is to have the form
               SUBROUTINE RES (NEQ, T, Y, S, R, IRES)
          where NEQ, T, Y, S, and IRES are input, and R and
          IRES are output.  Y, S, and R are arrays of length NEQ.",
            "RES",
            6,
            &[0, 1, 2, 3],
        );
    }

    /// An output that is an input, too, or by mistake.
    #[test]
    fn what_is_stored() {
        check(
            "          is to have the form
               SUBROUTINE ADDA (NEQ, T, Y, J, P)
          where NEQ, T, Y, J, and P  are input.  This routine
          should add the J-th column of matrix A to the array P, of
          length NEQ, a derivative with respect to Y.",
            "ADDA",
            5,
            &[0, 1, 2, 3],
        );
        check(
            "          SUBROUTINE JAC (NEQ, Y, PD)
          where NEQ, Y and PD are input.  The array PD, of length NEQ, is to be loaded
          with derivatives.
          It may use quantities in Y(NEQ(1)+1).",
            "JAC",
            3,
            &[0, 1],
        );
    }

    #[test]
    fn what_must_not_be_altered() {
        check(
            "  RES -- Provide a subroutine of the form
             SUBROUTINE RES(T,Y,YPRIME,DELTA,IRES)
         to define the system. IRES should not be changed unless something fails.
         The work arrays and DELTA must not be altered between calls.
         Subroutine RES must not alter T,Y(*) or YPRIME(1),...,YPRIME(N).",
            "RES",
            5,
            &[0, 1, 2],
        );
        check(
            "          It is to have the form
            SUBROUTINE JAC (F, NEQ, V,
           1                HL0, IER)
            INTEGER NEQ(*), V(*),
           1                IER
          JAC may alter V, but may not alter NEQ, or HL0.",
            "jac",
            5,
            &[1, 3],
        );
    }

    #[test]
    fn what_may_be_altered_and_what_not() {
        let text = "          It is to have the form
            SUBROUTINE JAC (NEQ, Y, YSV, V, HL0, JOK, IER)
          The argument JOK is an input flag for optional use
          by JAC in deciding whether to recompute elements.
          IER is an error flag.
          JAC may alter Y and V, but not YSV, or HL0.";
        check(text, "JAC", 7, &[2, 4, 5]);
    }

    #[test]
    fn minpack() {
        check(
            "         calling program, and should be written as follows.

         subroutine fcn(m,n,x,fvec,fjac,ldfjac,iflag)
         integer m,n,ldfjac,iflag
         double precision x(n),fvec(m),fjac(ldfjac,n)
         ----------
         if iflag = 1 calculate the functions at x and
         return this vector in fvec. do not alter fjac.
         ----------
         the value of iflag should not be changed by fcn unless
         the user wants to terminate execution of lmder.

       fvec is input.",
            "FCN",
            7,
            &[2],
        );
    }

    #[test]
    fn a_value_of_arguments() {
        let text = "     FCN         NAME (EXTERNAL) OF SUBROUTINE COMPUTING THE
                 VALUE OF F(X,Y):
                    SUBROUTINE FCN(N,X,Y,F,RPAR)
                    DOUBLE PRECISION X,Y(N),F(N)
                    F(1)=...   ETC.";
        check(text, "FCN", 5, &[1, 2]);
        check(&text.replace("F(X,Y)", "G(X,Y)"), "FCN", 5, &[]);
    }

    #[test]
    fn lists() {
        check(
            "     FCN(N,X,F,IFAIL) Ext    Function subroutine
       N              Int    Number of vector components (input)
       X(N)           Dble   Vector of unknowns (input)
       F(N)           Dble   Vector of function values (output)
       IFAIL          Int    Evaluation-failure indicator. (output)
     F(N)             Dble   Something else (input)",
            "FCN",
            4,
            &[0, 1],
        );
    }
}
