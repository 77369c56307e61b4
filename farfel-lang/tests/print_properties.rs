//! Tests that any expression, printed in any form, reads back as itself.

use farfel_lang::ir::*;
use farfel_lang::print::{Options, print_unit};
use farfel_lang::syntax::{Form, NoIncludes, parse};
use farfel_lang::{Sources, Span};
use proptest::prelude::*;

const S: Span = Span::NONE;

const NAMES: [&str; 6] = [
    "X",
    "E",
    "D0",
    "INDEX1",
    "A_NAME_OF_MEDIUM_LENGTH",
    "A_VERY_LONG_NAME_THAT_TAKES_MORE_ROOM_THAN_MOST_NAMES_EVER_DO_X",
];

/// Returns a subroutine whose symbol table holds the names in order.
fn unit() -> Unit {
    let mut unit = Unit::new(UnitKind::Subroutine, "S".into(), S);
    for name in NAMES {
        unit.symbols.intern(name, S);
    }
    unit
}

fn sym() -> impl Strategy<Value = SymId> {
    (0..NAMES.len() as u32).prop_map(SymId)
}

fn expr() -> impl Strategy<Value = Expr> {
    let at = |kind| Expr::new(kind, S);
    let leaf = prop_oneof![
        4 => sym().prop_map(ExprKind::Var),
        2 => (-20_i64..1_000_000).prop_map(ExprKind::Int),
        2 => prop::sample::select(vec!["1.", "0.5", "1.5E-3", "2.D0", "1E10", "-2.5"])
            .prop_map(|r| ExprKind::Real(r.into())),
        1 => any::<bool>().prop_map(ExprKind::Logical),
        1 => "[ -~]{0,12}".prop_map(ExprKind::Char),
        1 => "[a-z '!&\"]{60,200}".prop_map(ExprKind::Char),
    ]
    .prop_map(at);
    leaf.prop_recursive(7, 60, 4, move |inner| {
        let op = prop::sample::select(vec![
            BinOp::Add,
            BinOp::Sub,
            BinOp::Mul,
            BinOp::Div,
            BinOp::Pow,
            BinOp::Concat,
            BinOp::Lt,
            BinOp::Eq,
            BinOp::And,
            BinOp::Or,
            BinOp::Eqv,
            BinOp::Neqv,
        ]);
        let sign = prop::sample::select(vec![UnOp::Plus, UnOp::Minus, UnOp::Not]);
        prop_oneof![
            6 => (op, inner.clone(), inner.clone()).prop_map(|(op, a, b)| Expr::binary(op, a, b)),
            2 => (sign, inner.clone())
                .prop_map(move |(op, a)| at(ExprKind::Unary(op, Box::new(a)))),
            1 => inner.clone().prop_map(move |a| at(ExprKind::Paren(Box::new(a)))),
            2 => (sym(), prop::collection::vec(inner, 1..4))
                .prop_map(move |(s, args)| at(ExprKind::Apply(s, args))),
            // Hollerith constants are mainly used as arguments.
            1 => (sym(), "[a-z '!\"]{1,80}").prop_map(move |(s, text)| {
                at(ExprKind::Apply(s, vec![at(ExprKind::Hollerith(text))]))
            }),
        ]
    })
}

/// Returns the tree as text that does not depend on precedence; parentheses in the source do not
/// matter here.
fn meaning(unit: &Unit, e: &Expr) -> String {
    let of = |e: &Expr| meaning(unit, e);
    match &e.kind {
        ExprKind::Int(n) if *n < 0 => format!("[Minus {}]", -n),
        ExprKind::Int(n) => n.to_string(),
        ExprKind::Real(text) => match text.strip_prefix('-') {
            Some(text) => format!("[Minus {text}]"),
            None => text.to_string(),
        },
        ExprKind::Logical(b) => b.to_string(),
        ExprKind::Char(text) => format!("char {text:?}"),
        ExprKind::Hollerith(text) => format!("hollerith {text:?}"),
        ExprKind::Var(s) => unit.symbols[*s].name.to_string(),
        ExprKind::Apply(s, args) => {
            let args: Vec<_> = args.iter().map(of).collect();
            format!("{}<{}>", unit.symbols[*s].name, args.join("; "))
        }
        ExprKind::Unary(op, a) => format!("[{op:?} {}]", of(a)),
        ExprKind::Binary(op, a, b) => format!("[{} {op:?} {}]", of(a), of(b)),
        ExprKind::Paren(a) => of(a),
        other => panic!("{other:?}"),
    }
}

fn check(e: Expr, form: Form, depth: usize) -> Result<(), TestCaseError> {
    let mut written = unit();
    let wanted = meaning(&written, &e);
    let mut stmt = Stmt::assign(Expr::var(SymId(0), S), e, S);
    for _ in 0..depth {
        stmt = Stmt::new(
            StmtKind::If(IfBlock {
                arms: vec![(Expr::new(ExprKind::Logical(true), S), vec![stmt])],
                otherwise: None,
                ..IfBlock::default()
            }),
            S,
        );
    }
    written.body = vec![stmt];
    let text = print_unit(
        &written,
        &Options {
            form,
            line_markers: None,
            ..Options::default()
        },
    );
    let longest = match form {
        Form::Fixed => 72,
        Form::Free => 132,
    };
    prop_assert!(text.lines().all(|l| l.len() <= longest), "{}", text);

    let mut sources = Sources::new();
    let file = sources.add("printed", text.as_str());
    let parsed = parse(&mut sources, file, Some(form), &mut NoIncludes);
    prop_assert!(
        parsed.diagnostics.is_empty(),
        "{:?}\n{}",
        parsed.diagnostics,
        text
    );
    let read = &parsed.program.units[0];
    let mut block = &read.body;
    let value = loop {
        match &block[0].kind {
            StmtKind::If(b) => block = &b.arms[0].1,
            StmtKind::Assign(_, value) => break value,
            other => panic!("{other:?}"),
        }
    };
    prop_assert_eq!(meaning(read, value), wanted, "{}", text);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn expressions_in_fixed_form(e in expr(), depth in 0..20_usize) {
        check(e, Form::Fixed, depth)?;
    }

    #[test]
    fn expressions_in_free_form(e in expr(), depth in 0..20_usize) {
        check(e, Form::Free, depth)?;
    }
}
