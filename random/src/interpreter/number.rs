//! Real numbers that carry derivatives.
//!
//! Every execution of an AD block is an [`Invocation`] with a tag of its own. A number that depends
//! on the independent variables of the block is *lifted*: it has a value, and a slope that belongs
//! to that invocation. The value may itself be lifted by an invocation that began earlier. An
//! operation takes the latest invocation among its operands, treats operands not lifted by it as
//! constants, and applies the chain rule; values and partial derivatives are computed by the same
//! operations one level down. So slopes of different invocations are never confused (Siskind and
//! Pearlmutter, "Nesting forward-mode AD in a functional framework", 2008).

use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// One execution of an AD block.
pub struct Invocation {
    /// Later executions have larger tags.
    tag: u64,
    /// False once the block has ended: its slopes then have no meaning any more.
    alive: Cell<bool>,
    /// For a block in reverse mode, all operations so far: for each the positions of its operands
    /// on the tape, with the partial derivatives with respect to them.
    tape: RefCell<Vec<Vec<(usize, Number)>>>,
}

impl Invocation {
    /// Begins an invocation, which is later than all with smaller tags.
    pub fn begin(tag: u64) -> Rc<Self> {
        Rc::new(Invocation {
            tag,
            alive: Cell::new(true),
            tape: RefCell::default(),
        })
    }

    /// Ends the invocation: numbers lose its slopes.
    pub fn end(&self) {
        self.alive.set(false);
    }

    /// Creates a number with a tangent (forward mode).
    pub fn with_tangent(self: &Rc<Self>, value: Number, tangent: Number) -> Number {
        self.lift(value, Derivative::Tangent(tangent))
    }

    /// Creates a number on which others may depend (patterns).
    pub fn with_dependence(self: &Rc<Self>, value: Number) -> Number {
        self.lift(value, Derivative::Depends)
    }

    /// Whether a number depends on the independent variables of this invocation.
    pub fn depends(&self, x: &Number) -> bool {
        match x {
            Number::Active(l) if l.of.tag == self.tag => matches!(l.slope, Derivative::Depends),
            Number::Active(l) if l.of.tag > self.tag => self.depends(&l.value),
            _ => false,
        }
    }

    /// Creates an independent number, for which a gradient is requested (reverse mode).
    pub fn independent(self: &Rc<Self>, value: Number) -> Number {
        let at = self.record(Vec::new());
        self.lift(value, Derivative::OnTape(at))
    }

    fn lift(self: &Rc<Self>, value: Number, slope: Derivative) -> Number {
        Number::Active(Rc::new(ActiveNumber {
            of: self.clone(),
            value,
            slope,
        }))
    }

    fn record(&self, operands: Vec<(usize, Number)>) -> usize {
        let mut tape = self.tape.borrow_mut();
        tape.push(operands);
        tape.len() - 1
    }

    /// Returns the tangent of a number in this invocation.
    pub fn tangent(&self, x: &Number) -> Number {
        match x {
            Number::Active(l) if l.of.tag == self.tag => match &l.slope {
                Derivative::Tangent(t) => t.clone(),
                Derivative::OnTape(_) | Derivative::Depends => Number::ZERO,
            },
            // It was lifted by another direction of the same block.
            Number::Active(l) if l.of.tag > self.tag => self.tangent(&l.value),
            _ => Number::ZERO,
        }
    }

    /// Returns the position of a number on the tape of this invocation.
    pub fn on_tape(&self, x: &Number) -> Option<usize> {
        match x {
            Number::Active(l) if l.of.tag == self.tag => match l.slope {
                Derivative::OnTape(at) => Some(at),
                Derivative::Tangent(_) | Derivative::Depends => None,
            },
            _ => None,
        }
    }

    /// Computes the cotangents of everything on the tape from those of some numbers: the reverse
    /// sweep.
    pub fn cotangents(&self, given: &[(usize, Number)]) -> Vec<Number> {
        let tape = self.tape.borrow();
        let mut sums = vec![Number::ZERO; tape.len()];
        for (at, cotangent) in given {
            sums[*at] = add(&sums[*at], cotangent);
        }
        for (at, operands) in tape.iter().enumerate().rev() {
            let from = sums[at].clone();
            for (operand, partial) in operands {
                sums[*operand] = add(&sums[*operand], &mul(partial, &from));
            }
        }
        sums
    }
}

/// A real number.
#[derive(Clone)]
pub enum Number {
    /// Without derivatives.
    Plain(f64),
    /// With the slope of one invocation.
    Active(Rc<ActiveNumber>),
}

/// A number with a slope.
pub struct ActiveNumber {
    of: Rc<Invocation>,
    value: Number,
    slope: Derivative,
}

enum Derivative {
    Tangent(Number),
    /// It depends on the independent variables of the block, with any derivative.
    Depends,
    OnTape(usize),
}

/// The precision of values. Derivatives always have double precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// 4 bytes.
    Single,
    /// 8 bytes.
    Double,
}

impl Precision {
    fn round(self, x: f64) -> f64 {
        match self {
            Precision::Single => f64::from(x as f32),
            Precision::Double => x,
        }
    }
}

/// The differentiable functions of real numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub enum Function {
    Neg,
    Add,
    Sub,
    Mul,
    Div,
    /// A power with an INTEGER exponent.
    PowInt(i64),
    Pow,
    Mod,
    Sqrt,
    Exp,
    Log,
    Log10,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Atan2,
    Sinh,
    Cosh,
    Tanh,
}

impl Number {
    /// Zero.
    pub const ZERO: Number = Number::Plain(0.0);

    /// Returns the value without any derivatives.
    pub fn plain(&self) -> f64 {
        match self {
            Number::Plain(x) => *x,
            Number::Active(l) => l.value.plain(),
        }
    }

    /// Returns the number without slopes of invocations that have ended.
    pub fn current(&self) -> Number {
        let mut x = self;
        while let Number::Active(l) = x
            && !l.of.alive.get()
        {
            x = &l.value;
        }
        x.clone()
    }

    /// Rounds the value and leaves slopes unchanged.
    pub fn round(&self, precision: Precision) -> Number {
        match self {
            Number::Plain(x) => Number::Plain(precision.round(*x)),
            Number::Active(l) => l.of.lift(
                l.value.round(precision),
                match &l.slope {
                    Derivative::Tangent(t) => Derivative::Tangent(t.clone()),
                    Derivative::OnTape(at) => Derivative::OnTape(*at),
                    Derivative::Depends => Derivative::Depends,
                },
            ),
        }
    }
}

fn add(a: &Number, b: &Number) -> Number {
    apply(Function::Add, &[a, b], Precision::Double)
}

fn mul(a: &Number, b: &Number) -> Number {
    apply(Function::Mul, &[a, b], Precision::Double)
}

/// Evaluates a function, with the slopes given by the chain rule.
pub fn apply(f: Function, args: &[&Number], precision: Precision) -> Number {
    let of = |x: &Number| match x {
        Number::Active(l) => Some(l.of.clone()),
        Number::Plain(_) => None,
    };
    let latest = args.iter().filter_map(|x| of(x)).max_by_key(|i| i.tag);
    let Some(latest) = latest else {
        let plain: Vec<f64> = args.iter().map(|x| x.plain()).collect();
        return Number::Plain(precision.round(value(f, &plain)));
    };
    // A number lifted by another invocation is a constant for this one.
    let slope = |x: &'_ Number| match x {
        Number::Active(l) if l.of.tag == latest.tag => Some(l.clone()),
        _ => None,
    };
    let lifted: Vec<Option<Rc<ActiveNumber>>> = args.iter().map(|x| slope(x)).collect();
    let below: Vec<&Number> = args
        .iter()
        .zip(&lifted)
        .map(|(x, l)| l.as_ref().map_or(*x, |l| &l.value))
        .collect();
    let result = apply(f, &below, precision);
    let depends = |l: &Option<Rc<ActiveNumber>>| matches!(l, Some(l) if matches!(l.slope, Derivative::Depends));
    if lifted.iter().any(depends) {
        return latest.with_dependence(result);
    }
    let mut tangent = Number::ZERO;
    let mut operands = Vec::new();
    for (i, l) in lifted.iter().enumerate() {
        let Some(l) = l else { continue };
        let by = partial(f, i, &below);
        match &l.slope {
            Derivative::Tangent(t) => tangent = add(&tangent, &mul(&by, t)),
            Derivative::OnTape(at) => operands.push((*at, by)),
            Derivative::Depends => {}
        }
    }
    if operands.is_empty() {
        latest.with_tangent(result, tangent)
    } else {
        let at = latest.record(operands);
        latest.lift(result, Derivative::OnTape(at))
    }
}

fn value(f: Function, x: &[f64]) -> f64 {
    match f {
        Function::Neg => -x[0],
        Function::Add => x[0] + x[1],
        Function::Sub => x[0] - x[1],
        Function::Mul => x[0] * x[1],
        Function::Div => x[0] / x[1],
        Function::PowInt(n) => match i32::try_from(n) {
            Ok(n) => x[0].powi(n),
            Err(_) => x[0].powf(n as f64),
        },
        Function::Pow => x[0].powf(x[1]),
        Function::Mod => x[0] % x[1],
        Function::Sqrt => x[0].sqrt(),
        Function::Exp => x[0].exp(),
        Function::Log => x[0].ln(),
        Function::Log10 => x[0].log10(),
        Function::Sin => x[0].sin(),
        Function::Cos => x[0].cos(),
        Function::Tan => x[0].tan(),
        Function::Asin => x[0].asin(),
        Function::Acos => x[0].acos(),
        Function::Atan => x[0].atan(),
        Function::Atan2 => x[0].atan2(x[1]),
        Function::Sinh => x[0].sinh(),
        Function::Cosh => x[0].cosh(),
        Function::Tanh => x[0].tanh(),
    }
}

/// Returns the partial derivative of a function with respect to argument `i`.
fn partial(f: Function, i: usize, x: &[&Number]) -> Number {
    use Function::*;
    let call = |f: Function, args: &[&Number]| apply(f, args, Precision::Double);
    let number = Number::Plain;
    let one = &number(1.0);
    let square = |x: &Number| call(PowInt(2), &[x]);
    match (f, i) {
        (Neg, _) | (Sub, 1) => number(-1.0),
        (Add | Sub | Mod, _) if i == 0 || f == Add => number(1.0),
        // MOD(a, p) is a - INT(a/p)*p.
        (Mod, _) => number(-(x[0].plain() / x[1].plain()).trunc()),
        (Mul, _) => x[1 - i].clone(),
        (Div, 0) => call(Div, &[one, x[1]]),
        (Div, _) => call(Neg, &[&call(Div, &[x[0], &square(x[1])])]),
        (PowInt(0), _) => Number::ZERO,
        (PowInt(n), _) => mul(&number(n as f64), &call(PowInt(n - 1), x)),
        (Pow, 0) => mul(x[1], &call(Pow, &[x[0], &call(Sub, &[x[1], one])])),
        (Pow, _) => mul(&call(Pow, x), &call(Log, &[x[0]])),
        (Sqrt, _) => call(Div, &[&number(0.5), &call(Sqrt, x)]),
        (Exp, _) => call(Exp, x),
        (Log, _) => call(Div, &[one, x[0]]),
        (Log10, _) => call(Div, &[&number(std::f64::consts::LOG10_E), x[0]]),
        (Sin, _) => call(Cos, x),
        (Cos, _) => call(Neg, &[&call(Sin, x)]),
        (Tan, _) => add(one, &square(&call(Tan, x))),
        (Asin, _) => call(
            Div,
            &[one, &call(Sqrt, &[&call(Sub, &[one, &square(x[0])])])],
        ),
        (Acos, _) => call(Neg, &[&partial(Asin, 0, x)]),
        (Atan, _) => call(Div, &[one, &add(one, &square(x[0]))]),
        (Atan2, _) => {
            let by = call(Div, &[x[1 - i], &add(&square(x[0]), &square(x[1]))]);
            if i == 0 { by } else { call(Neg, &[&by]) }
        }
        (Sinh, _) => call(Cosh, x),
        (Cosh, _) => call(Sinh, x),
        (Tanh, _) => call(Sub, &[one, &square(&call(Tanh, x))]),
        (Add | Sub, _) => number(1.0),
    }
}
