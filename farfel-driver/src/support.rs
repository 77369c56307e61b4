//! The functions that checks call, as Fortran. They stand in a module before everything else in an
//! object file, where gfortran sees them and puts them into their callers.

use crate::border::fixed_form;
use std::collections::BTreeSet;

/// What checks call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Support {
    /// The last subscript, where all lead to an element: subscripts, the number of the element,
    /// how many there are, what is shown.
    Element(usize),
    /// The subscript of an array with one dimension: it, the lower bound, how many elements there
    /// are, what is shown.
    Subscript,
    /// The first bound of a section: it, the numbers of the first and the last element, how many
    /// there are, how many the section has, what is shown.
    Section,
    /// The first place in a text: it, the last one, how long the text is, what is shown.
    Substring,
    /// How many elements there are from one on: its number, how many there are in all.
    Rest,
    /// How many values a range has.
    Count,
    /// Ends the call unless all of an array is there: the elements that its declaration asks for,
    /// how many there are, what is shown.
    Whole,
}

/// The most dimensions of an array.
pub(super) const MOST_DIMENSIONS: usize = 7;

impl Support {
    pub(super) fn name(self) -> String {
        match self {
            Support::Element(rank) => format!("FARFEL_AT{rank}"),
            Support::Subscript => "FARFEL_AT1".into(),
            Support::Section => "FARFEL_SECTION".into(),
            Support::Substring => "FARFEL_SUBSTRING".into(),
            Support::Rest => "FARFEL_REST".into(),
            Support::Count => "FARFEL_COUNT".into(),
            Support::Whole => "FARFEL_WHOLE".into(),
        }
    }

    /// A subroutine, not a function.
    pub(super) fn is_subroutine(self) -> bool {
        self == Support::Whole
    }

    fn all() -> impl Iterator<Item = Support> {
        let others = [
            Support::Subscript,
            Support::Section,
            Support::Substring,
            Support::Rest,
            Support::Count,
            Support::Whole,
        ];
        let ranks = (2..=MOST_DIMENSIONS).map(Support::Element);
        others.into_iter().chain(ranks)
    }

    /// Is it the name of one?
    pub(crate) fn is_name(name: &str) -> bool {
        Support::all().any(|s| s.name() == name)
    }

    /// Its text. `FARFEL_BOUNDS_V1` is in `farfel-runtime` and does not come back.
    fn text(self) -> String {
        let name = self.name();
        let (args, shown, condition, values, result): (Vec<String>, bool, &str, String, &str) =
            match self {
                Support::Element(rank) => {
                    let subscripts: Vec<String> = (1..=rank).map(|i| format!("I{i}")).collect();
                    let args = [subscripts.clone(), vec!["E".into(), "N".into()]].concat();
                    let last = ["I2", "I3", "I4", "I5", "I6", "I7"][rank - 2];
                    let values = format!("1, {rank}, [{}], E, N", subscripts.join(", "));
                    // One comparison without signs: lengths are not negative.
                    (args, true, "BGE(E - 1, N)", values, last)
                }
                Support::Subscript => (
                    ["I1", "L", "N"].map(String::from).to_vec(),
                    true,
                    "BGE(I1 - L, N)",
                    "1, 1, [I1], I1 - L + 1, N".into(),
                    "I1",
                ),
                Support::Section => (
                    ["I1", "E", "F", "N", "K"].map(String::from).to_vec(),
                    true,
                    "K .GT. 0 .AND. (E .LT. 1 .OR. F .GT. N)",
                    "2, 2, [E, F], F, N".into(),
                    "I1",
                ),
                Support::Substring => (
                    ["I1", "F", "N"].map(String::from).to_vec(),
                    true,
                    "I1 .LE. F .AND. (I1 .LT. 1 .OR. F .GT. N)",
                    "3, 2, [I1, F], F, N".into(),
                    "I1",
                ),
                Support::Whole => (
                    ["E", "N"].map(String::from).to_vec(),
                    true,
                    "E .GT. N",
                    "4, 1, [E], E, N".into(),
                    "",
                ),
                Support::Rest => (
                    ["E", "N"].map(String::from).to_vec(),
                    false,
                    "",
                    String::new(),
                    "MERGE(MAX(N - E + 1, 0_8), 0_8, E .GE. 1)",
                ),
                Support::Count => (
                    ["E", "F"].map(String::from).to_vec(),
                    false,
                    "",
                    String::new(),
                    "MAX(F - E + 1, 0_8)",
                ),
            };
        let mut text = String::new();
        let mut put = |statement: String| text.push_str(&fixed_form(&statement));
        let shown_as = if shown { ", WHAT" } else { "" };
        let kind = if self.is_subroutine() {
            "SUBROUTINE"
        } else {
            "INTEGER*8 FUNCTION"
        };
        put(format!("{kind} {name}({}{shown_as})", args.join(", ")));
        put(format!("INTEGER*8, VALUE :: {}", args.join(", ")));
        if shown {
            put("CHARACTER(LEN=*) :: WHAT".into());
            put(format!(
                "IF ({condition}) CALL FARFEL_BOUNDS_V1({values}, WHAT)"
            ));
        }
        if !self.is_subroutine() {
            put(format!("{name} = {result}"));
        }
        put(format!("END {}", kind.trim_start_matches("INTEGER*8 ")));
        text
    }
}

/// A module with those that are named.
pub(crate) fn module(name: &str, used: &BTreeSet<&str>) -> String {
    let mut text = fixed_form(&format!("MODULE {name}"));
    text.push_str(&fixed_form("CONTAINS"));
    let used = Support::all().filter(|s| used.contains(&*s.name()));
    used.for_each(|s| text.push_str(&s.text()));
    text.push_str(&fixed_form("END MODULE"));
    text.push('\n');
    text
}
