//! Tests where variables are stored, against the rules of arithmetic and against gfortran.

use crate::common;
use farfel_lang::ir::{Program, SymId};
use farfel_lang::storage::{Constants, StorageLayout, UnitStorage, Value};
use farfel_lang::{Sources, resolve::resolve, syntax};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::fmt::Write;

/// Returns a resolved program. Its errors do not matter.
fn program(source: &str) -> Program {
    let mut sources = Sources::new();
    let file = sources.add("test.ff", source);
    let mut parsed = syntax::parse(&mut sources, file, None, &mut syntax::NoIncludes);
    assert_eq!(parsed.diagnostics, [], "{source}");
    resolve(&mut parsed.program);
    parsed.program
}

fn sym(program: &Program, unit: usize, name: &str) -> SymId {
    let symbols = &program.units[unit].symbols;
    symbols.find(name).unwrap_or_else(|| panic!("no {name}"))
}

/// The value of a constant expression follows the standard's definition of the operators.
#[test]
fn values_of_constants() {
    let int = |n| Some(Value::Integer(n, 4));
    let real = |x: f32| Some(Value::Real(x.into(), 4));
    let double = |x| Some(Value::Real(x, 8));
    let text = |s: &str| Some(Value::Character(s.to_owned()));
    let cases = [
        ("INTEGER C", "-7/2", int(-3)),
        ("INTEGER C", "2**10 - 3*(4 - 5)", int(1027)),
        ("INTEGER C", "(-2)**3 + 2**(-1) + (-1)**(-3)", int(-9)),
        ("INTEGER C", "-2**2", int(-4)),
        ("INTEGER C", "3.99", int(3)),
        (
            "INTEGER C",
            "MOD(-7, 3) + MAX(1, 5, 2) - MIN0(4, 3)",
            int(1),
        ),
        (
            "INTEGER C",
            "LEN('ABC') + ICHAR('A') + INDEX('XAB', 'AB')",
            int(70),
        ),
        (
            "INTEGER C",
            "NINT(-2.5) + INT(-2.5) + IABS(-2) + ISIGN(3, -1)",
            int(-6),
        ),
        ("INTEGER C", "IDIM(3, 5) + IDIM(5, 3)", int(2)),
        ("INTEGER C", "LEN(S)", int(7)),
        ("INTEGER C", "2147483647 + 1", None),
        ("INTEGER C", "9223372036854775807 + 1", None),
        ("INTEGER C", "C + 1", None),
        ("INTEGER C", "UNKNOWN(3)", None),
        ("INTEGER C", "KIND(1.0D0)*10 + KIND(D)", int(88)),
        ("INTEGER C", "KIND(1.0)*10 + KIND((1.0, 2.0D0))", int(48)),
        (
            "INTEGER C",
            "SELECTED_REAL_KIND(6)*10 + SELECTED_REAL_KIND(15, 307)",
            int(48),
        ),
        (
            "INTEGER C",
            "SELECTED_REAL_KIND(18)*10 + SELECTED_REAL_KIND(R=400)",
            int(110),
        ),
        (
            "INTEGER C",
            "SELECTED_REAL_KIND(33) + SELECTED_INT_KIND(10)",
            int(24),
        ),
        ("INTEGER C", "Z'7F' + 1_8", int(128)),
        (
            "INTEGER*8 C",
            "INT(2.0E9, 8)*2",
            Some(Value::Integer(4_000_000_000, 8)),
        ),
        (
            "INTEGER*8 C",
            "2147483647",
            Some(Value::Integer(2_147_483_647, 8)),
        ),
        ("INTEGER C", "1/0", None),
        ("INTEGER C", "I + 1", None),
        ("REAL C", "1.0/3", real(1.0 / 3.0)),
        ("REAL C", "2", real(2.0)),
        ("DOUBLE PRECISION C", "0.1", double(f64::from(0.1f32))),
        ("DOUBLE PRECISION C", "0.1D0*3", double(0.1 * 3.0)),
        (
            "DOUBLE PRECISION C",
            "2.0D0**0.5D0",
            double(2.0f64.powf(0.5)),
        ),
        ("DOUBLE PRECISION C", "SQRT(4.0D0) + DBLE(1)", double(3.0)),
        (
            "COMPLEX C",
            "(1.0, 2.0)*(3.0, -1.0)",
            Some(Value::Complex(5.0, 5.0, 4)),
        ),
        (
            "LOGICAL C",
            "1 .LT. 2 .AND. .NOT. 'B' .LE. 'A'",
            Some(Value::Logical(true)),
        ),
        (
            "LOGICAL C",
            ".TRUE. .NEQV. .TRUE.",
            Some(Value::Logical(false)),
        ),
        ("LOGICAL C", "'AB ' .EQ. 'AB'", Some(Value::Logical(true))),
        ("CHARACTER*4 C", "'AB'", text("AB  ")),
        ("CHARACTER*2 C", "'ABC'", text("AB")),
        ("CHARACTER*(*) C", "'AB'//'CD'", text("ABCD")),
    ];
    for (declaration, expression, value) in cases {
        let p = program(&format!(
            "
      SUBROUTINE S1
      CHARACTER S*7
      DOUBLE PRECISION D
      {declaration}
      PARAMETER (C =
     + {expression})
      END"
        ));
        let unit = &p.units[0];
        let named = Constants::of(unit).named(sym(&p, 0, "C"));
        assert_eq!(named, value, "{declaration} = {expression}");
    }
}

/// Many constants, each defined from the next one: in the order of their definitions, and in
/// reverse order.
#[test]
fn long_chains_of_constants() {
    let last = 20_000;
    let mut forward = String::from("      BLOCK DATA\n      PARAMETER (N0 = 1)\n");
    let mut backward = String::from("      BLOCK DATA\n");
    for i in 1..=last {
        writeln!(forward, "      PARAMETER (N{i} = N{} + 1)", i - 1).unwrap();
        writeln!(backward, "      PARAMETER (N{} = N{i} + 1)", i - 1).unwrap();
    }
    forward.push_str("      END\n");
    writeln!(backward, "      PARAMETER (N{last} = 1)\n      END").unwrap();
    let p = program(&forward);
    let name = format!("N{last}");
    let value = Constants::of(&p.units[0]).named(sym(&p, 0, &name));
    assert_eq!(value, Some(Value::Integer(last + 1, 4)));
    // This is an error, but must terminate.
    let p = program(&backward);
    assert_eq!(Constants::of(&p.units[0]).named(sym(&p, 0, "N0")), None);
}

/// Constants and bounds of a host also apply in nested subprograms.
#[test]
fn nested_subprograms_know_the_constants_around_them() {
    let p = program(
        "
      SUBROUTINE S
      PARAMETER (N = 3)
      REAL A(N)
        SUBROUTINE T
        COMMON /C/ X(N), Y
        X(1) = A(1)
        END
      CALL T
      END",
    );
    let layout = StorageLayout::of(&p);
    assert_eq!(layout.blocks()["C"].size, 16);
    let outer = Constants::of(&p.units[0]);
    let nested = &p.units[0].nested[0];
    let a = nested.symbols.find("A").unwrap();
    assert_eq!(outer.nested(nested).size(a), Some(12));
}

/// Extreme numbers cause no panic, whatever errors are reported.
#[test]
fn sizes_beyond_all_bounds() {
    let p = program(
        "
      SUBROUTINE S
      INTEGER*8 N, M
      PARAMETER (N = 9223372036854775807, M = -N - 1)
      REAL A(N), B(M:N), C(M:M), D(N:N), E(3), F(-N:-N)
      REAL G(4611686018427387904)
      CHARACTER*(N) T
      COMMON /C/ A, E, B, T, G, R
      COMMON /D/ C, D
      EQUIVALENCE (E(1), C(N)), (D(M), R), (F(N), G(N)), (T(N:N), F(1))
      DATA (E(I), I = M, N, N) /N*0.0/, D(N) /1.0/, T(M:N) /'A'/
      DATA ((A(I), I = 1, N), J = 1, N) /N*1.0, 9*1.0/
      E(N) = E(M) + B(-N)
      T(M:N) = T(N:M)//T(N:)
      PRINT *, N/(-1), M/(-1), -M, ABS(M), MOD(M, -1), M*M
      PRINT *, SIGN(M, -1), DIM(M, N), 2**N
      END
      SUBROUTINE T
      REAL A(4611686018427387904), B(2305843009213693951), C
      INTEGER I(2305843009213693951)
      COMMON /C/ A, C
      COMMON /E/ B, B1, B2, B3
      COMMON /D/ I, C1
      EQUIVALENCE (B(2305843009213693951), I2)
      END
      SUBROUTINE U
      INTEGER I(2305843009213693951)
      COMMON /E/ I, J
      END",
    );
    let layout = StorageLayout::of(&p);
    for (unit, _, storage) in layout.units() {
        for m in storage.areas().iter().flat_map(|a| &a.members) {
            layout.overlaps(unit, m.sym);
        }
    }
}

#[test]
fn overlaps_within_and_across_units() {
    let p = program(
        "
      SUBROUTINE A
      DOUBLE PRECISION D
      COMMON /C/ I, J, D
      EQUIVALENCE (E, D)
      END
      SUBROUTINE B
      COMMON /C/ X(4)
      COMMON /OTHER/ Y
      END
      SUBROUTINE C
      COMMON /C/ I, J, D
      DOUBLE PRECISION D
      EQUIVALENCE (U, V(2))
      DIMENSION V(3)
      END",
    );
    let layout = StorageLayout::of(&p);
    let id = |name| layout.find(name).unwrap();
    let shared = |unit: usize, name| -> Vec<String> {
        let unit_name = p.units[unit].name.as_str();
        let all = layout.overlaps(id(unit_name), sym(&p, unit, name));
        let shown = all.into_iter().map(|o| {
            let u = p.units.iter().find(|u| u.name == layout.name(o.unit));
            let name = &u.unwrap().symbols[o.sym].name;
            format!("{}.{name} {:?} {}", layout.name(o.unit), o.ours, o.theirs)
        });
        shown.collect()
    };
    assert_eq!(shared(0, "D"), ["A.E 0..4 0", "B.X 0..8 8", "C.D 0..8 0"]);
    assert_eq!(shared(0, "E"), ["A.D 0..4 0", "B.X 0..4 8", "C.D 0..4 0"]);
    assert_eq!(shared(1, "X").len(), 7);
    assert_eq!(shared(1, "Y"), [""; 0]);
    assert_eq!(shared(2, "U"), ["C.V 0..4 4"]);
    assert_eq!(shared(2, "V"), ["C.U 4..8 0"]);
    let d = (id("A"), sym(&p, 0, "D"));
    assert!(layout.same_storage(d, (id("C"), sym(&p, 2, "D"))));
    assert!(!layout.same_storage(d, (id("B"), sym(&p, 1, "X"))));
    assert!(!layout.same_storage((id("C"), sym(&p, 2, "U")), d));
}

/// A type as written, and the size of a value in bytes.
const TYPES: &[&str] = &[
    "INTEGER",
    "INTEGER*8",
    "INTEGER*2",
    "REAL",
    "DOUBLE PRECISION",
    "COMPLEX",
    "COMPLEX*16",
    "LOGICAL",
    "LOGICAL*1",
    "CHARACTER*3",
    "CHARACTER*8",
];

/// A type, bounds (the lower bound and the extent) and a block.
type Variable = (usize, Vec<(i8, u8)>, u8);

/// A random unit: its variables in two COMMON blocks and outside of them, and its EQUIVALENCEs.
#[derive(Debug, Clone)]
struct Unit {
    /// The variables in declaration order.
    variables: Vec<Variable>,
    /// Pairs of variables, with an element of each.
    ties: Vec<(usize, usize, u16, u16)>,
}

fn unit() -> impl Strategy<Value = Unit> {
    let dims = prop::collection::vec((-2i8..3, 1u8..4), 0..3);
    let variables = prop::collection::vec((0..TYPES.len(), dims, 0u8..3), 3..12);
    let ties = prop::collection::vec(
        (any::<usize>(), any::<usize>(), any::<u16>(), any::<u16>()),
        0..4,
    );
    (variables, ties).prop_map(|(variables, ties)| {
        let n = variables.len();
        let ties = ties.into_iter().map(|(a, b, i, j)| (a % n, b % n, i, j));
        Unit {
            ties: ties.filter(|t| t.0 != t.1).collect(),
            variables,
        }
    })
}

impl Unit {
    /// Returns the element with a number, or one character of it.
    fn element(&self, v: usize, number: u16) -> String {
        let (ty, dims, _) = &self.variables[v];
        let mut rest = u32::from(number);
        let subscripts: Vec<String> = dims
            .iter()
            .map(|(low, extent)| {
                let k = rest % u32::from(*extent);
                rest /= u32::from(*extent);
                (i64::from(*low) + i64::from(k)).to_string()
            })
            .collect();
        let mut shown = format!("V{v}");
        if !dims.is_empty() {
            write!(shown, "({})", subscripts.join(",")).unwrap();
        }
        if TYPES[*ty] == "CHARACTER*3" && rest % 2 == 1 {
            shown.push_str("(2:3)");
        }
        shown
    }

    fn declarations(&self) -> String {
        let mut text = String::new();
        for (v, (ty, dims, block)) in self.variables.iter().enumerate() {
            let dims: Vec<String> = dims
                .iter()
                .map(|(low, extent)| format!("{low}:{}", i16::from(*low) + i16::from(*extent) - 1))
                .collect();
            let dims = match dims.len() {
                0 => String::new(),
                _ => format!("({})", dims.join(",")),
            };
            writeln!(text, "      {} V{v}{dims}", TYPES[*ty]).unwrap();
            match block {
                0 => writeln!(text, "      COMMON /C/ V{v}").unwrap(),
                1 => writeln!(text, "      COMMON V{v}").unwrap(),
                _ => {}
            }
        }
        for (a, b, i, j) in &self.ties {
            let (a, b) = (self.element(*a, *i), self.element(*b, *j));
            writeln!(text, "      EQUIVALENCE ({a}, {b})").unwrap();
        }
        text
    }

    /// Whether the unit is correct. gfortran rejects the others.
    fn is_sound(&self) -> bool {
        let source = format!("      SUBROUTINE S\n{}      END\n", self.declarations());
        let mut sources = Sources::new();
        let file = sources.add("test.ff", source.as_str());
        let mut parsed = syntax::parse(&mut sources, file, None, &mut syntax::NoIncludes);
        let found = resolve(&mut parsed.program);
        !farfel_lang::diagnostic::any_errors(&found)
    }
}

/// The offset of every variable in many random units from the first variable of its area agrees
/// with gfortran's LOC.
#[test]
fn offsets_are_those_of_gfortran() {
    let mut runner = TestRunner::deterministic();
    let mut source = String::from("      PROGRAM P\n");
    let mut units = Vec::new();
    while units.len() < 400 {
        let unit = unit().new_tree(&mut runner).unwrap().current();
        if unit.is_sound() {
            units.push(unit);
        }
    }
    for i in 0..units.len() {
        writeln!(source, "      CALL S{i}").unwrap();
    }
    source.push_str("      END\n");
    let mut expected = String::new();
    for (i, unit) in units.iter().enumerate() {
        let declarations = unit.declarations().replace("/C/", &format!("/C{i}/"));
        let text = format!("      SUBROUTINE S{i}\n{declarations}");
        let p = program(&format!("{text}      END\n"));
        let storage = UnitStorage::of(&p.units[0]);
        source.push_str(&text);
        for area in storage.areas() {
            let name = |m: usize| &p.units[0].symbols[area.members[m].sym].name;
            for m in 1..area.members.len() {
                let distance = area.members[m].start - area.members[0].start;
                writeln!(
                    source,
                    "      PRINT '(I4,1X,A,1X,A,I6)', {i}, '{}', '{}',\n     + LOC({}) - LOC({})",
                    name(0),
                    name(m),
                    name(m),
                    name(0)
                )
                .unwrap();
                writeln!(expected, "{i:4} {} {}{distance:6}", name(0), name(m)).unwrap();
            }
        }
        source.push_str("      END\n");
    }
    assert!(expected.lines().count() > 500);
    let printed = common::run(&source).expect("gfortran takes what we take");
    for (ours, theirs) in expected.lines().zip(printed.lines()) {
        if ours != theirs {
            let i: usize = ours[..4].trim().parse().unwrap();
            panic!(
                "ours {ours}, gfortran's {theirs}\n{}",
                units[i].declarations()
            );
        }
    }
    assert_eq!(expected, printed);
}

/// Farfel and gfortran reject the same units.
#[test]
fn errors_are_those_of_gfortran() {
    let mut runner = TestRunner::deterministic();
    for _ in 0..40 {
        let unit = unit().new_tree(&mut runner).unwrap().current();
        let text = format!(
            "      SUBROUTINE S\n{}      END\n      END\n",
            unit.declarations()
        );
        assert_eq!(unit.is_sound(), common::run(&text).is_ok(), "{text}");
    }
}
