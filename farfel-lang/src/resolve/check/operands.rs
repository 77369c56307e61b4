//! Checks the types of operands, of expressions that control statements, and of arguments of
//! intrinsic functions. The rules are gfortran's, including those that gfortran only enforces in
//! its last phases.

use super::Checker;
use crate::diagnostic::{Diagnostic, rules};
use crate::intrinsics::{Intrinsic, Op};
use crate::ir::{
    BinOp, Class, DoControl, Expr, ExprKind, ImpliedDo, Io, IoKind, Stmt, StmtKind, StorageClass,
    SymId, Type, UnOp, Unit,
};
use crate::source::Span;
use crate::types::{rank, type_of};

/// A set of types, regardless of their sizes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct TypeSet(u8);

const INTEGER: TypeSet = TypeSet(1);
const REAL: TypeSet = TypeSet(2);
const COMPLEX: TypeSet = TypeSet(4);
const LOGICAL: TypeSet = TypeSet(8);
const CHARACTER: TypeSet = TypeSet(16);
const WHOLE_OR_REAL: TypeSet = INTEGER.or(REAL);
const FLOATING: TypeSet = REAL.or(COMPLEX);
const NUMBER: TypeSet = WHOLE_OR_REAL.or(COMPLEX);

impl TypeSet {
    const fn or(self, other: TypeSet) -> TypeSet {
        TypeSet(self.0 | other.0)
    }

    fn of(ty: Type) -> TypeSet {
        match ty {
            Type::Integer(_) => INTEGER,
            Type::Real(_) => REAL,
            Type::Complex(_) => COMPLEX,
            Type::Logical(_) => LOGICAL,
            Type::Character => CHARACTER,
        }
    }

    fn has(self, ty: Type) -> bool {
        self.0 & TypeSet::of(ty).0 != 0
    }

    /// Describes the types, for example `INTEGER or REAL`.
    fn words(self) -> String {
        const ALL: [(TypeSet, &str); 5] = [
            (INTEGER, "INTEGER"),
            (REAL, "REAL"),
            (COMPLEX, "COMPLEX"),
            (LOGICAL, "LOGICAL"),
            (CHARACTER, "CHARACTER"),
        ];
        if self == NUMBER {
            return "a number".to_owned();
        }
        let words: Vec<&str> = ALL
            .iter()
            .filter(|(t, _)| self.0 & t.0 != 0)
            .map(|(_, w)| *w)
            .collect();
        words.join(" or ")
    }
}

impl Checker<'_, '_> {
    /// Checks the requirements of a statement itself on its expressions.
    pub(super) fn controls(&mut self, unit: &Unit, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Do(d) => match &d.control {
                DoControl::Count {
                    var,
                    from,
                    to,
                    step,
                } => {
                    self.counter(unit, *var, stmt.span, WHOLE_OR_REAL);
                    for e in [from, to].into_iter().chain(step) {
                        self.scalar_of(unit, e, WHOLE_OR_REAL, "a limit of a loop");
                    }
                }
                DoControl::While(e) => self.scalar_of(unit, e, LOGICAL, "the condition"),
                DoControl::Forever => {}
            },
            StmtKind::ComputedGoto(_, e) => {
                self.scalar_of(unit, e, INTEGER, "what GOTO chooses by");
            }
            StmtKind::ArithmeticIf(e, _) => {
                self.scalar_of(unit, e, WHOLE_OR_REAL, "what IF chooses by");
            }
            StmtKind::AssignLabel(_, var) | StmtKind::AssignedGoto(var, _) => {
                self.counter(unit, *var, stmt.span, INTEGER);
            }
            StmtKind::Return(Some(e)) => {
                self.scalar_of(unit, e, INTEGER, "the number of a return");
            }
            StmtKind::Stop(Some(e)) | StmtKind::Pause(Some(e)) => {
                self.scalar_of(unit, e, INTEGER.or(CHARACTER), "what is shown here");
            }
            StmtKind::Io(io) => self.io_types(unit, io),
            _ => {}
        }
    }

    /// Checks a variable that counts or holds a label.
    fn counter(&mut self, unit: &Unit, var: SymId, span: Span, types: TypeSet) {
        let symbol = &unit.symbols[var];
        if symbol.class != Class::Variable {
            return;
        }
        let name = &symbol.name;
        let d = if symbol.is_array() {
            Diagnostic::error(
                &rules::RANK_MISMATCH,
                span,
                format!("{name} is an array, but a scalar variable is expected here"),
            )
        } else {
            match symbol.ty {
                Some(ty) if !types.has(ty) => Diagnostic::error(
                    &rules::TYPE_MISMATCH,
                    span,
                    format!("{name} is {ty}, and must be {} here", types.words()),
                ),
                _ => return,
            }
        };
        self.error(d.related(symbol.span, format!("{name} comes from here")));
    }

    /// Checks that an expression has one of some types. An expression without a type has an error
    /// of its own.
    fn of_types(&mut self, unit: &Unit, e: &Expr, types: TypeSet, what: &str) {
        let has = match (&e.kind, type_of(unit, e)) {
            // Compilers accept bits for any type.
            (ExprKind::Bits(_), _) => return,
            (ExprKind::Hollerith(_), _) => "a Hollerith constant".to_owned(),
            (_, Some(ty)) if !types.has(ty) => ty.to_string(),
            _ => return,
        };
        self.error(Diagnostic::error(
            &rules::TYPE_MISMATCH,
            e.span,
            format!("{what} must be {}, and this is {has}", types.words()),
        ));
    }

    fn scalar_of(&mut self, unit: &Unit, e: &Expr, types: TypeSet, what: &str) {
        self.of_types(unit, e, types, what);
        self.scalar(unit, e, what);
    }

    fn scalar(&mut self, unit: &Unit, e: &Expr, what: &str) {
        if rank(unit, e) > 0 {
            self.error(Diagnostic::error(
                &rules::RANK_MISMATCH,
                e.span,
                format!("{what} must be a scalar, and this is an array"),
            ));
        }
    }

    /// Checks the operands, subscripts and arguments of an expression itself, but not those of its
    /// parts.
    pub(super) fn operands(&mut self, unit: &Unit, e: &Expr) {
        match &e.kind {
            ExprKind::Unary(UnOp::Not, a) => {
                self.of_types(unit, a, LOGICAL, "the operand of .NOT.");
            }
            ExprKind::Unary(_, a) => self.of_types(unit, a, NUMBER, "the operand of a sign"),
            ExprKind::Binary(op, a, b) => self.binary(unit, *op, a, b, e.span),
            ExprKind::Element(_, subscripts) => {
                for s in subscripts {
                    let parts = match &s.kind {
                        ExprKind::Range(from, to, step) => [from, to, step]
                            .into_iter()
                            .filter_map(|e| e.as_deref())
                            .collect(),
                        _ => vec![s],
                    };
                    for e in parts {
                        self.of_types(unit, e, WHOLE_OR_REAL, "a subscript");
                    }
                }
            }
            ExprKind::Substring(_, from, to) => {
                for e in [from, to].into_iter().flatten() {
                    self.scalar_of(unit, e, INTEGER, "a limit of a substring");
                }
            }
            ExprKind::Array(a) => a.items.iter().for_each(|i| {
                if let ExprKind::ImpliedDo(d) = &i.kind {
                    self.implied(unit, d, INTEGER, i.span);
                }
            }),
            ExprKind::Call(s, args) => match &unit.symbols[*s].class {
                Class::Intrinsic(i) => self.intrinsic(unit, i, args),
                // The dummy arguments of a host's statement function are in the host's symbol
                // table.
                Class::StatementFunction(dummies, _)
                    if !matches!(unit.symbols[*s].storage_class, StorageClass::Host(_)) =>
                {
                    self.statement_function(unit, *s, dummies, args, e);
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn binary(&mut self, unit: &Unit, op: BinOp, a: &Expr, b: &Expr, span: Span) {
        if op.is_logical() {
            for x in [a, b] {
                self.of_types(unit, x, LOGICAL, "the operand of a logical operator");
            }
        } else if op == BinOp::Concat {
            for x in [a, b] {
                self.of_types(unit, x, CHARACTER, "the operand of //");
            }
        } else if op.is_relational() {
            let (Some(s), Some(t)) = (type_of(unit, a), type_of(unit, b)) else {
                return;
            };
            let order = !matches!(op, BinOp::Eq | BinOp::Ne);
            let complex = COMPLEX.has(s) || COMPLEX.has(t);
            let bits = [a, b].iter().any(|e| matches!(e.kind, ExprKind::Bits(_)));
            let fits = bits
                || CHARACTER.has(s) && CHARACTER.has(t)
                || NUMBER.has(s) && NUMBER.has(t) && !(order && complex);
            if fits {
                return;
            }
            let d = Diagnostic::error(
                &rules::TYPE_MISMATCH,
                span,
                match LOGICAL.has(s) && LOGICAL.has(t) {
                    true => "LOGICAL values cannot be compared like numbers".to_owned(),
                    false if order && complex && NUMBER.has(s) && NUMBER.has(t) => {
                        "COMPLEX values have no order".to_owned()
                    }
                    false => format!("{s} cannot be compared with {t}"),
                },
            );
            let d = match LOGICAL.has(s) && LOGICAL.has(t) {
                true => d.help("write .EQV. or .NEQV."),
                false => d,
            };
            self.error(d);
        }
    }

    fn implied(&mut self, unit: &Unit, d: &ImpliedDo<Expr>, types: TypeSet, span: Span) {
        self.counter(unit, d.var, span, types);
        for e in [&d.from, &d.to].into_iter().chain(&d.step) {
            self.scalar_of(unit, e, types, "a limit of a loop");
        }
        for item in &d.items {
            if let ExprKind::ImpliedDo(inner) = &item.kind {
                self.implied(unit, inner, types, item.span);
            }
        }
    }

    /// Checks that the dummy arguments of a statement function, and variables with the same names,
    /// are scalars.
    pub(super) fn statement_function_dummies(
        &mut self,
        unit: &Unit,
        name: &str,
        dummies: &[SymId],
    ) {
        for d in dummies {
            let symbol = &unit.symbols[*d];
            if symbol.is_array() {
                let d = Diagnostic::error(
                    &rules::CONFLICTING_DECLARATION,
                    symbol.span,
                    format!(
                        "{} is an array, and cannot be an argument of the statement function {name}",
                        symbol.name
                    ),
                );
                self.error(d.help("give the argument another name"));
            }
        }
    }

    /// Checks a reference to a statement function.
    fn statement_function(
        &mut self,
        unit: &Unit,
        f: SymId,
        dummies: &[SymId],
        args: &[Expr],
        e: &Expr,
    ) {
        let name = &unit.symbols[f].name;
        if dummies.len() != args.len() {
            let (n, s) = (dummies.len(), super::plural(dummies.len()));
            let given = super::count(args.len());
            let message = format!("{name} takes {n} argument{s}, but {given} given");
            self.error(Diagnostic::error(
                &rules::ARGUMENT_MISMATCH,
                e.span,
                message,
            ));
            return;
        }
        for (d, a) in dummies.iter().zip(args) {
            let what = format!("this argument of {name}");
            self.scalar(unit, a, &what);
            if let Some(ty) = unit.symbols[*d].ty {
                self.of_types(unit, a, TypeSet::of(ty), &what);
            }
        }
    }

    /// Checks the arguments of an intrinsic function.
    fn intrinsic(&mut self, unit: &Unit, i: &Intrinsic, args: &[Expr]) {
        let positional = |e: &&Expr| !matches!(e.kind, ExprKind::Keyword(..));
        let args: Vec<&Expr> = args.iter().take_while(positional).collect();
        let Some(wants) = argument_requirements(i) else {
            return;
        };
        let what = format!("this argument of {}", i.name);
        let most = match i.kind_at {
            Some(at) => args.len().min(at.into()),
            None => args.len(),
        };
        for (k, e) in args[..most].iter().enumerate() {
            let of = match wants.types.get(k).or(wants.types.last()) {
                Some(of) if k < wants.types.len() || wants.all => *of,
                _ => break,
            };
            // A conversion also accepts bits written as text.
            if i.op == Op::Convert && matches!(e.kind, ExprKind::Hollerith(_)) {
                continue;
            }
            self.of_types(unit, e, of, &what);
        }
        if wants.array
            && let Some(e) = args.first()
            && rank(unit, e) == 0
            && type_of(unit, e).is_some()
        {
            self.error(Diagnostic::error(
                &rules::RANK_MISMATCH,
                e.span,
                format!("{what} must be an array, and this is a scalar"),
            ));
        }
        if wants.alike
            && let Some((first, others)) = args[..most].split_first()
            && let Some(t) = type_of(unit, first)
        {
            for e in others {
                if let Some(s) = type_of(unit, e)
                    && TypeSet::of(s) != TypeSet::of(t)
                    && !matches!(e.kind, ExprKind::Bits(_))
                {
                    self.error(Diagnostic::error(
                        &rules::TYPE_MISMATCH,
                        e.span,
                        format!(
                            "the arguments of {} must be of one type, and they are {t} and {s}",
                            i.name
                        ),
                    ));
                }
            }
        }
    }

    /// Checks the specifiers of a file, the unit and the format.
    fn io_types(&mut self, unit: &Unit, io: &Io) {
        let transfers = matches!(io.kind, IoKind::Read | IoKind::Write | IoKind::Print);
        let (mut file, mut format) = (None, None);
        let mut plain = io
            .control
            .iter()
            .filter(|c| !matches!(c.kind, ExprKind::Keyword(..)));
        if io.parens || !transfers {
            file = plain.next();
        }
        if transfers {
            format = plain.next();
        }
        for c in &io.control {
            let ExprKind::Keyword(word, e) = &c.kind else {
                continue;
            };
            match word.as_str() {
                "UNIT" => file = Some(e),
                "FMT" => format = Some(e),
                word => {
                    let types = tag(io.kind, word);
                    if types.0 != 0 {
                        self.scalar_of(unit, e, types, &format!("{word}="));
                    }
                }
            }
        }
        if let Some(e) = file {
            match transfers {
                // An internal file may be an array.
                true => {
                    self.of_types(unit, e, INTEGER.or(CHARACTER), "the unit");
                    let constant = matches!(e.kind, ExprKind::Char(_) | ExprKind::Binary(..));
                    if constant && type_of(unit, e) == Some(Type::Character) {
                        self.error(Diagnostic::error(
                            &rules::TYPE_MISMATCH,
                            e.span,
                            "the unit is a number or a CHARACTER variable, and this is not a variable",
                        ));
                    }
                    if matches!(type_of(unit, e), Some(Type::Integer(_))) {
                        self.scalar(unit, e, "the unit");
                    }
                }
                false => self.scalar_of(unit, e, INTEGER, "the unit"),
            }
        }
        // Numeric arrays may hold a format as text.
        if let Some(e) = format
            && rank(unit, e) == 0
            && !matches!(e.kind, ExprKind::Hollerith(_) | ExprKind::Element(..))
        {
            self.of_types(unit, e, INTEGER.or(CHARACTER), "the format");
        }
        for item in &io.items {
            if let ExprKind::ImpliedDo(d) = &item.kind {
                self.implied(unit, d, WHOLE_OR_REAL, item.span);
            }
        }
    }
}

/// Returns the types that a control in an input or output statement accepts; none if it is a label
/// or the like.
fn tag(kind: IoKind, word: &str) -> TypeSet {
    match (kind, word) {
        (_, "ERR" | "END" | "EOR" | "NML" | "FMT" | "UNIT") => TypeSet(0),
        (_, "IOSTAT" | "REC" | "RECL" | "SIZE" | "POS" | "NEWUNIT" | "ID") => INTEGER,
        (IoKind::Inquire, "NUMBER" | "NEXTREC" | "IOLENGTH") => INTEGER,
        (IoKind::Inquire, "EXIST" | "OPENED" | "NAMED" | "PENDING") => LOGICAL,
        (
            _,
            "IOMSG" | "FILE" | "STATUS" | "ACCESS" | "FORM" | "BLANK" | "ACTION" | "POSITION"
            | "CONVERT" | "DELIM" | "PAD" | "ENCODING" | "DECIMAL" | "ROUND" | "SIGN"
            | "ASYNCHRONOUS" | "ADVANCE",
        ) => CHARACTER,
        (
            IoKind::Inquire,
            "NAME" | "SEQUENTIAL" | "DIRECT" | "FORMATTED" | "UNFORMATTED" | "READ" | "WRITE"
            | "READWRITE" | "STREAM",
        ) => CHARACTER,
        _ => TypeSet(0),
    }
}

/// The requirements of an intrinsic function on its arguments.
struct ArgumentRequirements {
    /// The types of the first arguments.
    types: Vec<TypeSet>,
    /// Whether the last of the types holds for all further arguments.
    all: bool,
    /// Whether all arguments must have the same type.
    alike: bool,
    /// Whether the first argument must be an array.
    array: bool,
}

/// Returns the requirements that can be checked here; `None` if there are none.
fn argument_requirements(i: &Intrinsic) -> Option<ArgumentRequirements> {
    let plain = |types: &[TypeSet]| ArgumentRequirements {
        types: types.to_vec(),
        all: types.len() == 1,
        alike: false,
        array: false,
    };
    let alike = |types| ArgumentRequirements {
        alike: true,
        ..plain(&[types])
    };
    let array = |types| ArgumentRequirements {
        all: false,
        array: true,
        ..plain(&[types])
    };
    let any = NUMBER.or(LOGICAL).or(CHARACTER);
    // By name, where one operation has functions with different requirements.
    Some(match i.name {
        "IAND" | "IOR" | "IEOR" | "ISHFT" | "ISHFTC" | "BTEST" | "IBSET" | "IBCLR" | "IBITS"
        | "NOT" | "CHAR" | "ACHAR" => plain(&[INTEGER]),
        "ICHAR" | "IACHAR" | "LEN" | "LEN_TRIM" | "TRIM" | "ADJUSTL" | "ADJUSTR" => {
            ArgumentRequirements {
                all: false,
                ..plain(&[CHARACTER])
            }
        }
        "INDEX" | "SCAN" | "VERIFY" | "LGE" | "LGT" | "LLE" | "LLT" => {
            plain(&[CHARACTER, CHARACTER])
        }
        "REPEAT" => plain(&[CHARACTER, INTEGER]),
        "CEILING" | "FLOOR" | "EPSILON" | "TINY" | "EXPONENT" | "FRACTION" | "NEAREST"
        | "SPACING" | "RRSPACING" | "SCALE" | "SET_EXPONENT" | "ISNAN" => ArgumentRequirements {
            all: false,
            ..plain(&[REAL])
        },
        "SUM" | "PRODUCT" => array(NUMBER),
        "MAXVAL" | "MINVAL" | "MAXLOC" | "MINLOC" => array(WHOLE_OR_REAL.or(CHARACTER)),
        "ANY" | "ALL" | "COUNT" => array(LOGICAL),
        "SIZE" | "LBOUND" | "UBOUND" | "RESHAPE" | "TRANSPOSE" | "PACK" | "CSHIFT" | "EOSHIFT" => {
            array(any)
        }
        "DOT_PRODUCT" | "MATMUL" => array(NUMBER.or(LOGICAL)),
        "BESJ0" | "BESJ1" | "BESY0" | "BESY1" | "BESSEL_J0" | "BESSEL_J1" | "BESSEL_Y0"
        | "BESSEL_Y1" => plain(&[REAL]),
        _ => match i.takes {
            Some(ty) => plain(&[TypeSet::of(ty)]),
            None => match i.op {
                Op::Sqrt
                | Op::Exp
                | Op::Log
                | Op::Sin
                | Op::Cos
                | Op::Tan
                | Op::Asin
                | Op::Acos
                | Op::Sinh
                | Op::Cosh
                | Op::Tanh => plain(&[FLOATING]),
                Op::Atan => ArgumentRequirements {
                    all: false,
                    ..plain(&[FLOATING])
                },
                Op::Log10
                | Op::Erf
                | Op::Erfc
                | Op::Gamma
                | Op::LogGamma
                | Op::Aint
                | Op::Anint
                | Op::Nint
                | Op::Dprod => plain(&[REAL]),
                Op::Atan2 => alike(REAL),
                Op::Aimag | Op::Conjg => plain(&[COMPLEX]),
                Op::Abs => plain(&[NUMBER]),
                Op::Mod | Op::Modulo | Op::Sign | Op::Dim => alike(WHOLE_OR_REAL),
                Op::Max | Op::Min => alike(WHOLE_OR_REAL.or(CHARACTER)),
                Op::Convert => plain(&[NUMBER]),
                _ => return None,
            },
        },
    })
}
