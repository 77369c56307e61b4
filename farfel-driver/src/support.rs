//! The functions that generated code calls, as Fortran: those for checks ([`crate::bounds_checks`]), and
//! those for operations that would end the process ([`crate::ends`]). They are in a module at the beginning
//! of an object file, where gfortran sees them and inlines them.

use crate::border::fixed_form;
use farfel_lang::Span;
use farfel_lang::intrinsics::Intrinsic;
use farfel_lang::ir::{Class, Origin, StorageClass, SymId, Symbol, Type, Unit};
use std::collections::BTreeSet;

/// The ways to end a call, with the numbers that `farfel-runtime` uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Stop = 1,
    Pause = 2,
    InputOutput = 3,
    Memory = 4,
    Division = 5,
    Step = 6,
    Float = 7,
}

impl Ending {
    /// Returns the CALL as text.
    pub(crate) fn call(self, code: &str, text: &str, place: &str) -> String {
        format!("CALL {END}({}, {code}, {text}, {place})", self as u8)
    }
}

/// The subroutine of `farfel-runtime`.
pub(crate) const END: &str = "FARFEL_END_V1";

/// The procedures that generated code calls. The text to be shown is that of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Support {
    /// Returns the last subscript if the subscripts designate an element. Arguments: the subscripts, the
    /// number of the element, the length, the text to be shown.
    Element(usize),
    /// Like [`Support::Element`] and [`Support::Subscript`], in a statement that must be completed: returns
    /// one of the subscripts, or the lower bound of its dimension if they are out of bounds. Arguments: the
    /// subscripts, the number of the element, the length, the text to be shown, which subscript, the lower
    /// bound.
    Later(usize),
    /// Returns the subscript of a one-dimensional array. Arguments: the subscript, the lower bound, the
    /// length, the text to be shown.
    Subscript,
    /// Returns the first bound of a section. Arguments: the bound, the numbers of the first and the last
    /// element, the length of the array, the number of elements in the section, the text to be shown.
    Section,
    /// Like [`Support::Section`], as a statement: without the bound.
    Within,
    /// Returns the first position of a substring. Arguments: this position, the last one, the length of the
    /// text, the text to be shown.
    Substring,
    /// Returns the size of an array up to one of its dimensions, and ends the call if it is too large for an INTEGER*8.
    /// Arguments: the size up to the dimension before, the bounds of the dimension, the text to be shown.
    Size,
    /// Returns the number of elements from one on. Arguments: its number, the length of the array.
    Rest,
    /// Returns the number of values in a range.
    Count,
    /// Returns the number of values in a range with a step. Arguments: the bounds, the step; for a step of 0,
    /// which is an error elsewhere, any number.
    Steps,
    /// Returns 1 if there are values in a range with a step, and 0 if there are none. The number of values may be
    /// too large for an INTEGER*8, and also their distance, which compilers take for one with another sign: then 1.
    Any,
    /// Returns the least value in a range with a step, which has values.
    Lowest,
    /// Returns the greatest value in a range with a step, which has values.
    Highest,
    /// Ends the call unless a whole array exists. Arguments: the number of elements that its declaration
    /// demands, the actual length, the text to be shown.
    Whole,
    /// Ends the call unless two extents are equal. Arguments: the extents, the text to be shown.
    Same,
    /// Performs an operation on two INTEGERs with these sizes in bytes. Arguments: the operands, the text to
    /// be shown, the place.
    Integers(Operation, u8, u8),
    /// Returns a step of this size in bytes, which must not be 0. Arguments: the step, the text to be shown,
    /// the place.
    Step(u8),
    /// Increments a variable, its only argument.
    Next,
    /// Ends the call unless there is memory for an array. Arguments: its address, the text to be shown, the
    /// place.
    There,
    /// Copies bytes. Arguments: the source, the destination, the number of bytes.
    Copy,
    /// Returns the product of two numbers that are not negative, or [`PLENTY`] if it is larger.
    Times,
    /// Ends the call unless there is memory for temporary values. Arguments: the number of bytes, the text to be
    /// shown, the place.
    Room,
    /// Returns a number of copies. Ends the call unless there is memory for them. Arguments: the number, the bytes of
    /// each, the text to be shown, the place.
    Copies,
    /// Returns a subscript that belongs to a vector of subscripts, element by element. Arguments: the subscript, the
    /// lower bound, the number of values, the text to be shown.
    Each,
    /// Returns the first character of a text. Arguments: the text, the text to be shown.
    First,
    /// Returns the first extent for RESHAPE. Arguments: this extent, the number of elements of the result, of the source,
    /// and of PAD, the text to be shown.
    Shape,
    /// Returns the first value of the argument ORDER of RESHAPE, which must be a permutation. Arguments: the values, the
    /// text to be shown.
    Order(usize),
}

/// More bytes, or elements, than any memory has.
pub(crate) const PLENTY: i64 = 1 << 50;

/// Temporary values that need fewer bytes are made without asking for memory first.
pub(crate) const SMALL_TEMPORARY: i64 = 1 << 20;

/// The operations that have no value for some INTEGERs, for which processors end the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Operation {
    /// `I/J`
    Quotient,
    /// `MOD(I, J)`
    Remainder,
    /// `MODULO(I, J)`
    Modulo,
    /// `I**J`
    Power,
}

impl Operation {
    const ALL: [Operation; 4] = [
        Operation::Quotient,
        Operation::Remainder,
        Operation::Modulo,
        Operation::Power,
    ];

    fn name(self) -> &'static str {
        match self {
            Operation::Quotient => "DIV",
            Operation::Remainder => "MOD",
            Operation::Modulo => "MODULO",
            Operation::Power => "POW",
        }
    }
}

/// The maximum number of dimensions of an array.
pub(crate) const MOST_DIMENSIONS: usize = 7;

impl Support {
    pub(crate) fn name(self) -> String {
        match self {
            Support::Element(rank) => format!("FARFEL_AT{rank}"),
            Support::Subscript => "FARFEL_AT1".into(),
            Support::Later(rank) => format!("FARFEL_LATER{rank}"),
            Support::Section => "FARFEL_SECTION".into(),
            Support::Within => "FARFEL_WITHIN".into(),
            Support::Substring => "FARFEL_SUBSTRING".into(),
            Support::Size => "FARFEL_SIZE".into(),
            Support::Rest => "FARFEL_REST".into(),
            Support::Count => "FARFEL_COUNT".into(),
            Support::Steps => "FARFEL_STEPS".into(),
            Support::Any => "FARFEL_ANY".into(),
            Support::Lowest => "FARFEL_LOWEST".into(),
            Support::Highest => "FARFEL_HIGHEST".into(),
            Support::Whole => "FARFEL_WHOLE".into(),
            Support::Same => "FARFEL_SAME".into(),
            Support::Integers(operation, a, b) => format!("FARFEL_{}{a}{b}", operation.name()),
            Support::Step(bytes) => format!("FARFEL_STEP{bytes}"),
            Support::Next => "FARFEL_NEXT".into(),
            Support::There => "FARFEL_THERE".into(),
            Support::Copy => "FARFEL_COPY".into(),
            Support::Times => "FARFEL_TIMES".into(),
            Support::Room => "FARFEL_ROOM".into(),
            Support::Copies => "FARFEL_COPIES".into(),
            Support::Each => "FARFEL_EACH".into(),
            Support::First => "FARFEL_FIRST".into(),
            Support::Shape => "FARFEL_SHAPE".into(),
            Support::Order(rank) => format!("FARFEL_ORDER{rank}"),
        }
    }

    /// Returns the type of its result.
    pub(crate) fn ty(self) -> Option<Type> {
        match self {
            _ if self.is_subroutine() => None,
            Support::First => Some(Type::Character),
            Support::Integers(_, a, b) => Some(Type::Integer(a.max(b))),
            Support::Step(bytes) => Some(Type::Integer(bytes)),
            _ => Some(Type::Integer(8)),
        }
    }

    /// Whether it is a subroutine and not a function.
    pub(crate) fn is_subroutine(self) -> bool {
        matches!(
            self,
            Support::Whole
                | Support::Same
                | Support::There
                | Support::Copy
                | Support::Room
                | Support::Within
        )
    }

    fn all() -> impl Iterator<Item = Support> {
        let others = [
            Support::Subscript,
            Support::Section,
            Support::Within,
            Support::Substring,
            Support::Size,
            Support::Rest,
            Support::Count,
            Support::Steps,
            Support::Any,
            Support::Lowest,
            Support::Highest,
            Support::Whole,
            Support::Same,
            Support::Next,
            Support::There,
            Support::Copy,
            Support::Times,
            Support::Room,
            Support::Copies,
            Support::Each,
            Support::First,
            Support::Shape,
        ];
        const BYTES: [u8; 4] = [1, 2, 4, 8];
        let ranks = (2..=MOST_DIMENSIONS)
            .map(Support::Element)
            .chain((1..=MOST_DIMENSIONS).map(Support::Later))
            .chain((1..=MOST_DIMENSIONS).map(Support::Order));
        let pairs = BYTES.into_iter().flat_map(|a| BYTES.map(|b| (a, b)));
        let integers = pairs.flat_map(|(a, b)| Operation::ALL.map(|o| Support::Integers(o, a, b)));
        let steps = BYTES.map(Support::Step);
        others.into_iter().chain(ranks).chain(integers).chain(steps)
    }

    /// Returns which argument the check with this name returns.
    pub(crate) fn checked(name: &str) -> Option<usize> {
        if !name.starts_with("FARFEL_") {
            return None;
        }
        match Support::all().find(|s| s.name() == name)? {
            Support::Element(rank) => Some(rank - 1),
            Support::Subscript
            | Support::Section
            | Support::Substring
            | Support::Step(_)
            | Support::Copies
            | Support::Each
            | Support::First
            | Support::Shape
            | Support::Order(_) => Some(0),
            _ => None,
        }
    }

    /// Whether this is the name of one of the procedures.
    pub(crate) fn is_name(name: &str) -> bool {
        name.starts_with("FARFEL_") && Support::all().any(|s| s.name() == name)
    }

    /// Returns its text. `FARFEL_BOUNDS_V1` and `FARFEL_END_V1` are in `farfel-runtime` and do not return.
    fn text(self) -> String {
        match self {
            Support::Integers(operation, a, b) => self.of_integers(operation, a, b),
            Support::Step(bytes) => {
                let condition = format!("IF (I .EQ. 0) {}", Ending::Step.call("0", "WHAT", "AT"));
                self.elemental(&[(bytes, "I")], &condition, "", "I")
            }
            Support::Next => {
                let lines = [
                    "INTEGER*8 FUNCTION FARFEL_NEXT(K)",
                    "INTEGER*8, INTENT(INOUT) :: K",
                    "K = K + 1",
                    "FARFEL_NEXT = K",
                    "END FUNCTION",
                ];
                lines.map(fixed_form).concat()
            }
            Support::There => {
                let condition = format!("IF (I .EQ. 0) {}", Ending::Memory.call("0", "WHAT", "AT"));
                let lines = [
                    "SUBROUTINE FARFEL_THERE(I, WHAT, AT)",
                    "INTEGER*8, VALUE :: I",
                    "CHARACTER(LEN=*), INTENT(IN) :: WHAT, AT",
                    &condition,
                    "END SUBROUTINE",
                ];
                lines.map(fixed_form).concat()
            }
            Support::Copy => {
                let lines = [
                    "SUBROUTINE FARFEL_COPY(FROM, TO, N)",
                    "INTEGER*8, VALUE :: FROM, TO, N",
                    "INTEGER*8 I",
                    "INTEGER*1 A(N), B(N)",
                    "POINTER (FROM_P, A), (TO_P, B)",
                    "FROM_P = FROM",
                    "TO_P = TO",
                    "DO I = 1, N",
                    "B(I) = A(I)",
                    "END DO",
                    "END SUBROUTINE",
                ];
                lines.map(fixed_form).concat()
            }
            Support::Later(rank) => later(rank),
            Support::Room => {
                let ask = format!("IF (N .GE. {SMALL_TEMPORARY}_8) CALL {ROOM}(N, WHAT, AT)");
                let lines = [
                    "SUBROUTINE FARFEL_ROOM(N, WHAT, AT)",
                    "INTEGER*8, VALUE :: N",
                    "CHARACTER(LEN=*), INTENT(IN) :: WHAT, AT",
                    &ask,
                    "END SUBROUTINE",
                ];
                lines.map(fixed_form).concat()
            }
            Support::Copies => {
                let bytes = format!("K = {TIMES}");
                let ask = format!("IF (K .GE. {SMALL_TEMPORARY}_8) CALL {ROOM}(K, WHAT, AT)");
                let lines = [
                    "INTEGER*8 FUNCTION FARFEL_COPIES(N, E, WHAT, AT)",
                    "INTEGER*8, VALUE :: N, E",
                    "CHARACTER(LEN=*), INTENT(IN) :: WHAT, AT",
                    "INTEGER*8 K",
                    &bytes,
                    &ask,
                    "FARFEL_COPIES = N",
                    "END FUNCTION",
                ];
                lines.map(fixed_form).concat()
            }
            Support::Each => [
                "IMPURE ELEMENTAL INTEGER*8 FUNCTION FARFEL_EACH(I1, L, N, WHAT)",
                "INTEGER*8, INTENT(IN) :: I1, L, N",
                "CHARACTER(LEN=*), INTENT(IN) :: WHAT",
                "IF (BGE(I1 - L, N)) CALL FARFEL_BOUNDS_V1(1, 1, [I1], I1 - L + 1, N, WHAT)",
                "FARFEL_EACH = I1",
                "END FUNCTION",
            ]
            .map(fixed_form)
            .concat(),
            Support::First => [
                "IMPURE ELEMENTAL CHARACTER(LEN=1) FUNCTION FARFEL_FIRST(C, WHAT)",
                "CHARACTER(LEN=*), INTENT(IN) :: C, WHAT",
                "IF (LEN(C) .LT. 1) CALL FARFEL_BOUNDS_V1(3, 2, [1_8, 1_8], 1_8, 0_8, WHAT)",
                "FARFEL_FIRST = C(1:1)",
                "END FUNCTION",
            ]
            .map(fixed_form)
            .concat(),
            Support::Order(rank) => {
                let values: Vec<String> = (1..=rank).map(|i| format!("I{i}")).collect();
                let values = values.join(", ");
                let lines = [
                    format!("INTEGER*8 FUNCTION FARFEL_ORDER{rank}({values}, WHAT)"),
                    format!("INTEGER*8, VALUE :: {values}"),
                    "CHARACTER(LEN=*) :: WHAT".into(),
                    format!("INTEGER*8 ALL({rank}), I"),
                    format!("ALL = [{values}]"),
                    format!("DO I = 1, {rank}"),
                    format!(
                        "IF (.NOT. ANY(ALL .EQ. I)) CALL FARFEL_BOUNDS_V1(1, {rank}, ALL, \
                         0_8, {rank}_8, WHAT)"
                    ),
                    "END DO".into(),
                    format!("FARFEL_ORDER{rank} = I1"),
                    "END FUNCTION".into(),
                ];
                lines.iter().map(|l| fixed_form(l)).collect()
            }
            _ => self.of_arrays(),
        }
    }

    /// Returns the text of an INTEGER operation. The most negative number divided by -1 wraps to itself.
    fn of_integers(self, operation: Operation, a: u8, b: u8) -> String {
        let bytes = a.max(b);
        let of = |x: &str| format!("INT({x}, {bytes})");
        let (condition, special, value) = match operation {
            Operation::Quotient => ("J .EQ. 0", format!("-{}", of("I")), "I/J".to_owned()),
            Operation::Remainder => (
                "J .EQ. 0",
                "0".into(),
                format!("MOD({}, {})", of("I"), of("J")),
            ),
            Operation::Modulo => (
                "J .EQ. 0",
                "0".into(),
                format!("MODULO({}, {})", of("I"), of("J")),
            ),
            Operation::Power => ("I .EQ. 0 .AND. J .LT. 0", String::new(), "I**J".into()),
        };
        let condition = format!(
            "IF ({condition}) {}",
            Ending::Division.call("0", "WHAT", "AT")
        );
        self.elemental(&[(a, "I"), (b, "J")], &condition, &special, &value)
    }

    /// Returns the text of an elemental function. `special` is its value if J is -1.
    fn elemental(self, args: &[(u8, &str)], condition: &str, special: &str, value: &str) -> String {
        let name = self.name();
        let bytes = args.iter().map(|(b, _)| *b).max().unwrap_or(4);
        let names: Vec<&str> = args.iter().map(|(_, n)| *n).collect();
        let mut text = String::new();
        let mut put = |statement: String| text.push_str(&fixed_form(&statement));
        put(format!(
            "IMPURE ELEMENTAL INTEGER*{bytes} FUNCTION {name}({}, WHAT, AT)",
            names.join(", ")
        ));
        for (bytes, name) in args {
            put(format!("INTEGER*{bytes}, INTENT(IN) :: {name}"));
        }
        put("CHARACTER(LEN=*), INTENT(IN) :: WHAT, AT".into());
        put(condition.into());
        if special.is_empty() {
            put(format!("{name} = {value}"));
        } else {
            put("IF (J .EQ. -1) THEN".into());
            put(format!("{name} = {special}"));
            put("ELSE".into());
            put(format!("{name} = {value}"));
            put("END IF".into());
        }
        put("END FUNCTION".into());
        text
    }

    fn of_arrays(self) -> String {
        let name = self.name();
        let range: Vec<String> = ["E", "F", "K"].map(String::from).to_vec();
        let (args, shown, condition, values, result): (Vec<String>, bool, &str, String, &str) =
            match self {
                Support::Element(rank) => {
                    let subscripts: Vec<String> = (1..=rank).map(|i| format!("I{i}")).collect();
                    let args = [subscripts.clone(), vec!["E".into(), "N".into()]].concat();
                    let last = ["I2", "I3", "I4", "I5", "I6", "I7"][rank - 2];
                    let values = format!("1, {rank}, [{}], E, N", subscripts.join(", "));
                    // A single unsigned comparison suffices, because lengths are not negative.
                    (args, true, "BGE(E - 1, N)", values, last)
                }
                Support::Subscript => (
                    ["I1", "L", "N"].map(String::from).to_vec(),
                    true,
                    "BGE(I1 - L, N)",
                    "1, 1, [I1], I1 - L + 1, N".into(),
                    "I1",
                ),
                Support::Section | Support::Within => (
                    ["I1", "E", "F", "N", "K"]
                        .into_iter()
                        .skip(usize::from(self == Support::Within))
                        .map(String::from)
                        .collect(),
                    true,
                    // Numbers that are too large have become negative, or are in the wrong order.
                    "K .GT. 0 .AND. (BGE(E - 1, N) .OR. BGE(F - 1, N) .OR. F .LT. E)",
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
                Support::Shape => (
                    ["I1", "K", "N", "P"].map(String::from).to_vec(),
                    true,
                    "P .LE. 0 .AND. K .GT. N",
                    "4, 1, [K], K, N".into(),
                    "MAX(I1, 0_8)",
                ),
                Support::Size => (
                    ["N", "E", "F"].map(String::from).to_vec(),
                    true,
                    // The extent, or its product with the size, is too large. Usually both are small.
                    "F .GE. E .AND. N .GT. 0 .AND. (F - E + 1 .LE. 0 .OR. \
                     (SHIFTR(IOR(N, F - E + 1), 31) .NE. 0 .AND. \
                     N .GT. HUGE(N)/MERGE(F - E + 1, 1_8, F - E + 1 .GT. 0)))",
                    "4, 1, [HUGE(N)], HUGE(N), 0_8".into(),
                    "N*MERGE(F - E + 1, 0_8, F .GE. E)",
                ),
                Support::Same => (
                    ["E", "N"].map(String::from).to_vec(),
                    true,
                    "E .NE. N",
                    "5, 1, [E], E, N".into(),
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
                Support::Steps => (
                    range,
                    false,
                    "",
                    String::new(),
                    "MAX((F - E + K)/(K + MERGE(1_8, 0_8, K .EQ. 0)), 0_8)",
                ),
                Support::Any => (
                    range,
                    false,
                    "",
                    String::new(),
                    "MERGE(1_8, 0_8, MERGE(E .LE. F .OR. F - E .GE. 0, \
                     E .GE. F .OR. F - E .LE. 0, K .GT. 0))",
                ),
                Support::Lowest => (
                    range,
                    false,
                    "",
                    String::new(),
                    "MIN(E, E + (F - E)/(K + MERGE(1_8, 0_8, K .EQ. 0))*K)",
                ),
                Support::Highest => (
                    range,
                    false,
                    "",
                    String::new(),
                    // The largest number, which no array has, if the distance is too large for an INTEGER*8.
                    "MAX(E, E + (F - E)/(K + MERGE(1_8, 0_8, K .EQ. 0))*K, \
                     MERGE(HUGE(E), E, MERGE(E .LE. F .AND. F - E .LT. 0, \
                     F .LE. E .AND. E - F .LT. 0, K .GT. 0)))",
                ),
                Support::Times => (
                    ["N", "E"].map(String::from).to_vec(),
                    false,
                    "",
                    String::new(),
                    TIMES,
                ),
                Support::Room
                | Support::Copies
                | Support::Each
                | Support::First
                | Support::Order(_)
                | Support::Integers(..)
                | Support::Step(_)
                | Support::Next
                | Support::There
                | Support::Copy
                | Support::Later(_) => {
                    return String::new();
                }
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

/// The subroutine of `farfel-runtime` that asks for memory.
const ROOM: &str = "FARFEL_ROOM_V1";

/// The product of N and E, as [`Support::Times`] defines it.
const TIMES: &str = "MERGE(1125899906842624_8, MAX(N, 0_8)*MAX(E, 0_8), \
                     N .GT. 1125899906842624_8/MAX(E, 1_8))";

/// Returns the text of a check whose failure is reported after the statement. An array without elements has
/// no element that could be used instead.
fn later(rank: usize) -> String {
    let subscripts: Vec<String> = (1..=rank).map(|i| format!("I{i}")).collect();
    let subscripts = subscripts.join(", ");
    let values = format!("{rank}, [{subscripts}], E, N, WHAT");
    let lines = [
        format!("INTEGER*8 FUNCTION FARFEL_LATER{rank}({subscripts}, E, N, WHAT, K, L)"),
        format!("INTEGER*8, VALUE :: {subscripts}, E, N, K, L"),
        "CHARACTER(LEN=*) :: WHAT".into(),
        format!("INTEGER*8 ALL({rank})"),
        format!("ALL = [{subscripts}]"),
        "IF (BGE(E - 1, N)) THEN".into(),
        format!("IF (N .LT. 1) CALL FARFEL_BOUNDS_V1(1, {values})"),
        format!("CALL FARFEL_LATER_V1({values})"),
        format!("FARFEL_LATER{rank} = L"),
        "ELSE".into(),
        format!("FARFEL_LATER{rank} = ALL(K)"),
        "END IF".into(),
        "END FUNCTION".into(),
    ];
    lines.iter().map(|l| fixed_form(l)).collect()
}

/// Shortens a piece of program text for a message, so that it can be read at a glance.
pub(crate) fn shortened(mut shown: String) -> String {
    if let Some((cut, _)) = shown.char_indices().nth(100) {
        shown.truncate(cut);
        shown.push('…');
    }
    shown
}

/// Returns an intrinsic function for a unit. A variable of that name is renamed; returns `None` if the name
/// belongs to a procedure, or to a variable in a NAMELIST, whose name is visible.
pub(crate) fn intrinsic(unit: &mut Unit, name: &str) -> Option<SymId> {
    let intrinsic = Intrinsic::find(name)?;
    if let Some(id) = unit.symbols.find(name) {
        if matches!(unit.symbols[id].class, Class::Intrinsic(i) if i == intrinsic) {
            return Some(id);
        }
        if has_another(unit, name) {
            return None;
        }
        // Keeps the first letter, and thus the implicit type.
        let other = unit.symbols.unused(name, &|_| false);
        unit.symbols.rename(id, other);
    }
    let symbol = Symbol {
        class: Class::Intrinsic(intrinsic),
        ty: Some(Type::INTEGER),
        origin: Origin::Generated,
        ..Symbol::new(name.into(), Span::NONE)
    };
    Some(unit.symbols.add(symbol))
}

/// Whether the name of an intrinsic function has another meaning in a unit and cannot be renamed.
pub(crate) fn has_another(unit: &Unit, name: &str) -> bool {
    let Some(id) = unit.symbols.find(name) else {
        return false;
    };
    let symbol = &unit.symbols[id];
    let of_unit = match symbol.class {
        Class::Variable | Class::Parameter(_) => symbol.storage_class != StorageClass::Result,
        Class::StatementFunction(..) | Class::Intrinsic(_) => true,
        _ => false,
    };
    let shown = unit
        .symbols
        .iter()
        .any(|(_, s)| matches!(&s.class, Class::Namelist(group) if group.contains(&id)));
    !of_unit || shown
}

/// Returns a module with the named procedures.
pub(crate) fn module(name: &str, used: &BTreeSet<&str>) -> String {
    let mut text = fixed_form(&format!("MODULE {name}"));
    text.push_str(&fixed_form("CONTAINS"));
    let used = Support::all().filter(|s| used.contains(&*s.name()));
    used.for_each(|s| text.push_str(&s.text()));
    text.push_str(&fixed_form("END MODULE"));
    text.push('\n');
    text
}
