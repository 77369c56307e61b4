//! Tests the printer on trees made by hand: trees that no source text leads to, and text that must
//! match exactly.

use farfel_lang::ir::*;
use farfel_lang::print::{Form, Options, print_expr, print_program, print_unit};
use farfel_lang::{Sources, Span};

/// A unit under construction.
struct Maker {
    unit: Unit,
}

const S: Span = Span::NONE;

/// Columns matter, and snapshots drop the blanks with which all lines begin.
fn with_bars(text: &str) -> String {
    text.lines().map(|l| format!("|{l}\n")).collect()
}

impl Maker {
    fn new(kind: UnitKind, name: &str) -> Self {
        Maker {
            unit: Unit::new(kind, name.into(), S),
        }
    }

    fn sym(&mut self, name: &str) -> SymId {
        self.unit.symbols.intern(name, S)
    }

    fn var(&mut self, name: &str) -> Expr {
        let s = self.sym(name);
        Expr::var(s, S)
    }

    fn assign(&mut self, name: &str, value: Expr) -> Stmt {
        Stmt::assign(self.var(name), value, S)
    }

    /// Returns the unit in fixed form, with a bar before column 1.
    fn text(&self) -> String {
        with_bars(&print_unit(&self.unit, &Options::default()))
    }
}

fn expr(kind: ExprKind) -> Expr {
    Expr::new(kind, S)
}

fn int(n: i64) -> Expr {
    Expr::int(n, S)
}

fn un(op: UnOp, a: Expr) -> Expr {
    expr(ExprKind::Unary(op, Box::new(a)))
}

fn neg(a: Expr) -> Expr {
    un(UnOp::Minus, a)
}

fn not(a: Expr) -> Expr {
    un(UnOp::Not, a)
}

fn bin(op: BinOp, a: Expr, b: Expr) -> Expr {
    Expr::binary(op, a, b)
}

fn paren(a: Expr) -> Expr {
    expr(ExprKind::Paren(Box::new(a)))
}

/// Returns what `tree` prints as, in a unit that declares A to D.
fn printed(tree: impl FnOnce(Expr, Expr, Expr, Expr) -> Expr) -> String {
    let mut m = Maker::new(UnitKind::Subroutine, "S");
    let (a, b, c, d) = (m.var("A"), m.var("B"), m.var("C"), m.var("D"));
    let tree = tree(a, b, c, d);
    print_expr(&m.unit, &tree)
}

#[test]
fn parentheses_stand_exactly_where_the_tree_needs_them() {
    use BinOp::*;
    let cases: Vec<(String, &str)> = vec![
        (printed(|a, b, _, _| neg(bin(Pow, a, b))), "-A**B"),
        (printed(|a, b, _, _| bin(Pow, neg(a), b)), "(-A)**B"),
        (printed(|a, b, _, _| bin(Pow, a, neg(b))), "A**(-B)"),
        (printed(|a, b, c, _| bin(Pow, a, bin(Pow, b, c))), "A**B**C"),
        (
            printed(|a, b, c, _| bin(Pow, bin(Pow, a, b), c)),
            "(A**B)**C",
        ),
        (
            printed(|a, b, c, _| bin(Pow, a, bin(Mul, b, c))),
            "A**(B*C)",
        ),
        (printed(|a, b, _, _| neg(bin(Mul, a, b))), "-A*B"),
        (printed(|a, b, _, _| bin(Mul, neg(a), b)), "(-A)*B"),
        (printed(|a, b, _, _| bin(Mul, a, neg(b))), "A*(-B)"),
        (printed(|a, b, _, _| bin(Div, a, neg(b))), "A/(-B)"),
        (
            printed(|a, b, c, _| bin(Sub, a, bin(Sub, b, c))),
            "A - (B - C)",
        ),
        (
            printed(|a, b, c, _| bin(Sub, bin(Sub, a, b), c)),
            "A - B - C",
        ),
        (
            printed(|a, b, c, _| bin(Add, a, bin(Add, b, c))),
            "A + (B + C)",
        ),
        (
            printed(|a, b, c, _| bin(Mul, bin(Add, a, b), c)),
            "(A + B)*C",
        ),
        (printed(|a, b, c, _| bin(Mul, a, bin(Div, b, c))), "A*(B/C)"),
        (printed(|a, b, c, _| bin(Div, bin(Mul, a, b), c)), "A*B/C"),
        (printed(|a, b, c, _| bin(Div, a, bin(Mul, b, c))), "A/(B*C)"),
        (printed(|a, b, _, _| bin(Add, neg(a), b)), "-A + B"),
        (printed(|a, b, _, _| bin(Add, a, neg(b))), "A + (-B)"),
        (printed(|a, b, _, _| bin(Sub, a, neg(b))), "A - (-B)"),
        (printed(|a, b, _, _| neg(bin(Add, a, b))), "-(A + B)"),
        (printed(|a, _, _, _| neg(neg(a))), "-(-A)"),
        (printed(|a, _, _, _| neg(un(UnOp::Plus, a))), "-(+A)"),
        (printed(|a, _, _, _| bin(Mul, a, int(-1))), "A*(-1)"),
        (printed(|a, _, _, _| bin(Pow, int(-2), a)), "(-2)**A"),
        (printed(|a, _, _, _| bin(Add, a, int(-1))), "A + (-1)"),
        (printed(|_, _, _, _| int(-7)), "-7"),
        (printed(|_, _, _, _| neg(int(-7))), "-(-7)"),
        (
            printed(|a, _, _, _| bin(Mul, a, expr(ExprKind::Real("-2.5".into())))),
            "A*(-2.5)",
        ),
        (printed(|a, _, _, _| bin(Lt, a, neg(int(1)))), "A .LT. -1"),
        (
            printed(|a, b, c, d| bin(Lt, bin(Add, a, b), bin(Mul, c, d))),
            "A + B .LT. C*D",
        ),
        (
            printed(|a, b, c, d| bin(Eq, bin(Lt, a, b), bin(Lt, c, d))),
            "(A .LT. B) .EQ. (C .LT. D)",
        ),
        (
            printed(|a, b, c, _| bin(Concat, a, bin(Concat, b, c))),
            "A // (B // C)",
        ),
        (
            printed(|a, b, c, _| bin(Eq, bin(Concat, a, b), c)),
            "A // B .EQ. C",
        ),
        (printed(|a, b, _, _| not(bin(Lt, a, b))), ".NOT. A .LT. B"),
        (
            printed(|a, b, _, _| bin(And, not(a), not(b))),
            ".NOT. A .AND. .NOT. B",
        ),
        (
            printed(|a, b, _, _| not(bin(And, a, b))),
            ".NOT. (A .AND. B)",
        ),
        (printed(|a, _, _, _| not(not(a))), ".NOT. (.NOT. A)"),
        (
            printed(|a, b, c, _| bin(And, bin(Or, a, b), c)),
            "(A .OR. B) .AND. C",
        ),
        (
            printed(|a, b, c, _| bin(Or, bin(And, a, b), c)),
            "A .AND. B .OR. C",
        ),
        (
            printed(|a, b, c, _| bin(Or, a, bin(Or, b, c))),
            "A .OR. (B .OR. C)",
        ),
        (
            printed(|a, b, c, _| bin(Eqv, a, bin(Neqv, b, c))),
            "A .EQV. (B .NEQV. C)",
        ),
        (
            printed(|a, b, c, _| bin(Eqv, bin(Or, a, b), not(c))),
            "A .OR. B .EQV. .NOT. C",
        ),
        // The user's own parentheses are kept, and not doubled.
        (printed(|a, _, _, _| paren(paren(a))), "((A))"),
        (
            printed(|a, b, c, _| bin(Mul, paren(bin(Add, a, b)), c)),
            "(A + B)*C",
        ),
        (
            printed(|a, b, c, _| bin(Add, paren(bin(Mul, a, b)), c)),
            "(A*B) + C",
        ),
    ];
    for (got, wanted) in cases {
        assert_eq!(got, wanted);
    }
}

#[test]
fn a_closure_prints_as_the_procedure_followed_by_what_it_takes_along() {
    let mut m = Maker::new(UnitKind::Subroutine, "EQLBRM");
    let captured = ["BIGA", "BIGB", "BSTAR", "N"].map(|n| m.sym(n)).to_vec();
    let f = m.sym("EQLBRM_F");
    let root = m.sym("ROOT");
    let (astar, n) = (m.var("ASTAR"), m.var("N"));
    let call = expr(ExprKind::Call(
        root,
        vec![expr(ExprKind::Closure(f, captured)), astar, n],
    ));
    assert_eq!(
        print_expr(&m.unit, &call),
        "ROOT(EQLBRM_F, BIGA, BIGB, BSTAR, N, ASTAR, N)"
    );
}

#[test]
fn sums_of_many_terms_are_printed_without_deep_recursion() {
    let mut m = Maker::new(UnitKind::Subroutine, "S");
    let sum = (0..20_000).fold(m.var("X"), |sum, n| bin(BinOp::Add, sum, int(n)));
    let text = print_expr(&m.unit, &sum);
    assert!(text.starts_with("X + 0 + 1 + 2"));
    assert!(text.ends_with(" + 19999"));
    // Dropping a tree is recursive.
    std::mem::forget(sum);
}

#[test]
fn implicit_rules_are_printed_first_when_no_statement_is_there() {
    let mut m = Maker::new(UnitKind::Subroutine, "S");
    for (letter, rule) in ('A'..='Z').zip(&mut m.unit.implicit.letters) {
        *rule = match letter {
            'A'..='H' | 'O'..='Y' => Some((Type::DOUBLE, None)),
            'I' | 'K' => Some((Type::Integer(2), None)),
            'Z' => Some((Type::Character, Some(8))),
            _ => None,
        };
    }
    insta::assert_snapshot!(m.text(), @r#"
    |      SUBROUTINE S
    |      IMPLICIT DOUBLE PRECISION (A-H, O-Y), INTEGER*2 (I, K),
    |     +    CHARACTER*8 (Z)
    |      END
    "#);
}

#[test]
fn a_recursive_function_gets_a_result_only_when_it_calls_itself() {
    let recursive = |name_called: &str| {
        let mut m = Maker::new(UnitKind::Function, "FACT");
        let n = m.sym("N");
        m.unit.args = vec![Arg::Dummy(n)];
        let fact = m.sym("FACT");
        m.unit.symbols[fact].ty = Some(Type::INTEGER);
        m.unit.result = Some(fact);
        m.unit.recursive = true;
        m.unit.typed_header = true;
        let called = m.sym(name_called);
        let argument = bin(BinOp::Sub, m.var("N"), int(1));
        let call = expr(ExprKind::Call(called, vec![argument]));
        let value = bin(BinOp::Mul, m.var("N"), call);
        let assign = m.assign("FACT", value);
        m.unit.body = vec![assign];
        m.text()
    };
    insta::assert_snapshot!(recursive("FACT"), @r#"
    |      RECURSIVE INTEGER FUNCTION FACT(N) RESULT(FACT_RESULT)
    |      FACT_RESULT = N*FACT(N - 1)
    |      END
    "#);
    insta::assert_snapshot!(recursive("OTHER"), @r#"
    |      RECURSIVE INTEGER FUNCTION FACT(N)
    |      FACT = N*OTHER(N - 1)
    |      END
    "#);
}

#[test]
fn a_terminal_statement_that_a_pass_removed_is_replaced() {
    let mut m = Maker::new(UnitKind::Subroutine, "S");
    let i = m.sym("I");
    let body = vec![m.assign("X", int(1))];
    let inner = Do {
        name: None,
        control: DoControl::Count {
            var: i,
            from: int(1),
            to: int(3),
            step: None,
        },
        body,
        end: DoEnd::Label(10),
        end_span: Span::NONE,
        directive: None,
    };
    let outer = Do {
        body: vec![Stmt::new(StmtKind::Do(Box::new(inner.clone())), S)],
        ..inner
    };
    m.unit.body = vec![Stmt::new(StmtKind::Do(Box::new(outer)), S)];
    insta::assert_snapshot!(m.text(), @r#"
    |      SUBROUTINE S
    |      DO 10 I = 1, 3
    |        DO 10 I = 1, 3
    |          X = 1
    |   10   CONTINUE
    |      END
    "#);
}

#[test]
fn a_block_in_a_logical_if_becomes_a_block_if() {
    let mut m = Maker::new(UnitKind::Subroutine, "S");
    let condition = bin(BinOp::Lt, m.var("X"), int(0));
    let inner = Stmt::new(
        StmtKind::If(IfBlock {
            arms: vec![(m.var("L"), vec![m.assign("X", int(1))])],
            otherwise: None,
            ..IfBlock::default()
        }),
        S,
    );
    m.unit.body = vec![Stmt::new(
        StmtKind::LogicalIf(condition, Box::new(inner)),
        S,
    )];
    insta::assert_snapshot!(m.text(), @r#"
    |      SUBROUTINE S
    |      IF (X .LT. 0) THEN
    |        IF (L) THEN
    |          X = 1
    |        END IF
    |      END IF
    |      END
    "#);
}

#[test]
fn deep_blocks_leave_room_for_their_statements() {
    let mut m = Maker::new(UnitKind::Subroutine, "S");
    let sum = (0..9).fold(m.var("X"), |sum, n| {
        bin(BinOp::Add, sum, int(1_000_000 + n))
    });
    let mut stmt = m.assign("X", sum);
    for _ in 0..40 {
        stmt = Stmt::new(
            StmtKind::If(IfBlock {
                arms: vec![(m.var("L"), vec![stmt])],
                otherwise: None,
                ..IfBlock::default()
            }),
            S,
        );
    }
    m.unit.body = vec![stmt];
    let text = m.text();
    assert!(text.lines().all(|l| l.len() <= 73), "{text}");
    assert!(text.contains("\n|     +"), "{text}");
}

#[test]
fn types_are_what_the_symbols_say() {
    let mut m = Maker::new(UnitKind::Subroutine, "S");
    let entities = ["X", "Y", "Z"].map(|n| Entity {
        sym: m.sym(n),
        dims: false,
    });
    let y = m.sym("Y");
    m.unit.symbols[y].ty = Some(Type::DOUBLE);
    m.unit.specs = vec![Spec {
        kind: SpecKind::Type(Type::REAL, entities.to_vec()),
        span: S,
    }];
    insta::assert_snapshot!(m.text(), @r#"
    |      SUBROUTINE S
    |      REAL X, Z
    |      DOUBLE PRECISION Y
    |      END
    "#);
}

#[test]
fn line_markers_stand_where_a_compiler_would_assume_another_line() {
    let mut sources = Sources::new();
    let text = "      SUBROUTINE S\n      X = 1\n\n      Y = 2\n      END\n";
    let file = sources.add("src/a \"b\".ff", text);
    let at = |pattern: &str| {
        let start = text.find(pattern).unwrap() as u32;
        Span::new(file, start, start + 1)
    };
    let mut m = Maker::new(UnitKind::Subroutine, "S");
    m.unit.span = at("SUBR");
    m.unit.end_span = at("END");
    let long = (0..20).fold(int(1), |sum, n| bin(BinOp::Add, sum, int(n)));
    m.unit.body = vec![
        Stmt::assign(m.var("X"), int(1), at("X =")),
        Stmt::assign(m.var("GENERATED"), int(1), at("X =")),
        Stmt::new(StmtKind::Comment(" comment".to_owned().into()), at("X =")),
        Stmt::assign(m.var("NOWHERE"), int(1), S),
        Stmt::assign(m.var("Y"), long, at("Y =")),
    ];
    let program = Program {
        units: vec![m.unit],
    };
    let options = Options {
        form: Form::Fixed,
        line_markers: Some(&sources),
        ..Options::default()
    };
    insta::assert_snapshot!(with_bars(&print_program(&program, &options)), @r#"
    |# 1 "src/a \"b\".ff"
    |      SUBROUTINE S
    |      X = 1
    |# 2 "src/a \"b\".ff"
    |      GENERATED = 1
    |C comment
    |      NOWHERE = 1
    |# 4 "src/a \"b\".ff"
    |      Y = 1 + 0 + 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 11 + 12 + 13
    |     +    + 14 + 15 + 16 + 17 + 18 + 19
    |# 5 "src/a \"b\".ff"
    |      END
    "#);
}

#[test]
fn a_compiler_reports_errors_at_the_marked_lines() {
    let mut sources = Sources::new();
    let text = "\n\n      SUBROUTINE S\n      X = 1\n\n\n      CALL\n      END\n";
    let file = sources.add("src/game.ff", text);
    let at = |pattern: &str| {
        let start = text.find(pattern).unwrap() as u32;
        Span::new(file, start, start + 1)
    };
    for (form, suffix) in [(Form::Fixed, "f"), (Form::Free, "f90")] {
        let mut m = Maker::new(UnitKind::Subroutine, "S");
        m.unit.span = at("SUBR");
        m.unit.end_span = at("END");
        let long = (0..90).fold(int(1), |sum, n| bin(BinOp::Add, sum, int(n)));
        // It has no name, which causes an error.
        let nameless = m.sym("");
        m.unit.body = vec![
            Stmt::assign(m.var("X"), long, at("X =")),
            Stmt::new(StmtKind::Call(nameless, vec![]), at("CALL")),
        ];
        let options = Options {
            form,
            line_markers: Some(&sources),
            ..Options::default()
        };
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join(format!("printed.{suffix}"));
        std::fs::write(&source, print_unit(&m.unit, &options)).unwrap();
        let output = std::process::Command::new("gfortran")
            .args(["-std=legacy", "-fsyntax-only"])
            .arg(&source)
            .output()
            .expect("gfortran is needed");
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.starts_with("src/game.ff:7:"), "{message}");
    }
}

/// Constants at line breaks: a compiler must read what was meant.
#[test]
fn constants_survive_their_line_breaks() {
    let pieces = [
        "''",
        "&",
        "! no comment ",
        "a",
        "  ",
        "\"",
        "+",
        "word ",
        "'",
        "ü",
        "世界",
    ];
    let mut random = 12345_u32;
    let mut next = |n: usize| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 16) as usize % n
    };
    let constants: Vec<String> = (0..300)
        .map(|i| {
            // If the beginning of a constant cannot be chosen, a line may have to split a
            // character.
            let (length, kinds) = match i % 3 {
                0 => (1 + next(300), 9),
                1 => (1 + next(100), 10),
                _ => (1 + next(80), 11),
            };
            let mut text = String::new();
            while text.len() < length {
                text.push_str(pieces[next(kinds)]);
            }
            text
        })
        .collect();
    // PRINT writes a blank first.
    let wanted: String = constants.iter().map(|c| format!(" {c}\n")).collect();

    for (form, suffix) in [(Form::Fixed, "f"), (Form::Free, "f90")] {
        let mut m = Maker::new(UnitKind::Program, "P");
        for (i, c) in constants.iter().enumerate() {
            let mut stmt = Stmt::new(
                StmtKind::Io(Box::new(Io {
                    kind: IoKind::Print,
                    control: vec![expr(ExprKind::Char("(1X, A)".into()))],
                    parens: false,
                    items: vec![expr(ExprKind::Char(c.clone()))],
                })),
                S,
            );
            for _ in 0..i % 17 {
                stmt = Stmt::new(
                    StmtKind::If(IfBlock {
                        arms: vec![(expr(ExprKind::Logical(true)), vec![stmt])],
                        otherwise: None,
                        ..IfBlock::default()
                    }),
                    S,
                );
            }
            m.unit.body.push(stmt);
        }
        let options = Options {
            form,
            line_markers: None,
            ..Options::default()
        };
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join(format!("printed.{suffix}"));
        std::fs::write(&source, print_unit(&m.unit, &options)).unwrap();
        let program = folder.path().join("printed");
        let output = std::process::Command::new("gfortran")
            .args(["-std=legacy", "-w", "-o"])
            .args([&program, &source])
            .output()
            .expect("gfortran is needed");
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{message}");
        let output = std::process::Command::new(program).output().unwrap();
        let got = String::from_utf8(output.stdout).unwrap();
        for (got, wanted) in got.lines().zip(wanted.lines()) {
            assert_eq!(got, wanted, "{form:?}");
        }
        assert_eq!(got, wanted);
    }
}
