//! The routines of the run-time support that adjoint code calls: the stack with PUSH and POP.
//!
//! Adjoint code that is differentiated again (forward over reverse) calls them, too. The tool must
//! know that popped values are the pushed ones, so it gets a stub of each routine: a subroutine
//! that keeps the values in COMMON. The derivatives that it generates for the stubs are discarded;
//! instead the derivative of a value follows the value on the stack.
//!
//! The tool considers some calls passive. A value that was pushed without a derivative must not be
//! popped with one, so in generated code each real number is pushed with a derivative, possibly
//! zero.

use farfel_lang::ir::{Name, SpecKind, StmtKind, Unit, walk_block};
use std::fmt::Write;

/// A routine of the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Routine<'n> {
    /// Whether this is PUSH; otherwise POP.
    pub push: bool,
    /// `REAL8`, `CONTROL1B`, …
    pub kind: &'n str,
    /// Whether it handles many values at once.
    pub array: bool,
}

impl Routine<'_> {
    /// Returns the declaration of its values, if they can have derivatives.
    pub fn real(&self) -> Option<&'static str> {
        Some(match self.kind {
            "REAL4" => "REAL",
            "REAL8" => "DOUBLE PRECISION",
            "REAL16" => "REAL*16",
            "COMPLEX8" => "COMPLEX",
            "COMPLEX16" => "COMPLEX*16",
            _ => return None,
        })
    }

    /// Returns the declaration of its values.
    fn ty(&self) -> Option<&'static str> {
        self.real().or(match self.kind {
            "INTEGER4" => Some("INTEGER"),
            "INTEGER8" | "POINTER8" => Some("INTEGER*8"),
            "POINTER4" => Some("INTEGER"),
            "BOOLEAN" => Some("LOGICAL"),
            "CHARACTER" => Some("CHARACTER"),
            "CONTROL1B" | "CONTROL2B" | "CONTROL3B" | "CONTROL4B" | "CONTROL5B" | "CONTROL6B"
            | "CONTROL7B" | "CONTROL8B" => Some("INTEGER"),
            _ => None,
        })
    }
}

/// Parses the name of a routine in upper case.
pub(super) fn routine(name: &str) -> Option<Routine<'_>> {
    let (push, rest) = match (name.strip_prefix("PUSH"), name.strip_prefix("POP")) {
        (Some(rest), _) => (true, rest),
        (_, Some(rest)) => (false, rest),
        _ => return None,
    };
    let (kind, array) = match rest.strip_suffix("ARRAY") {
        Some(kind) => (kind, true),
        None => (rest, false),
    };
    let r = Routine { push, kind, array };
    r.ty().map(|_| r)
}

/// Whether this is a routine of the run-time support.
pub(super) fn is_support(name: &str) -> bool {
    routine(name).is_some() || name.starts_with("ADSTACK_") || name.starts_with("ADMM_")
}

/// Returns the names of the support routines that a unit calls.
pub(super) fn calls(unit: &Unit) -> Vec<Name> {
    let mut found: Vec<Name> = Vec::new();
    walk_block(&unit.body, &mut |s| {
        if let StmtKind::Call(callee, _) = &s.kind {
            let name = &unit.symbols[*callee].name;
            if is_support(name) && !found.contains(name) {
                found.push(name.clone());
            }
        }
    });
    found
}

/// Declares the support routines that a unit calls as EXTERNAL, in a unit that has only been
/// parsed.
pub(super) fn declare_calls(unit: &mut Unit) {
    for name in calls(unit) {
        if let Some(s) = unit.symbols.find(&name)
            && !unit.symbols[s].external
        {
            unit.symbols[s].external = true;
            unit.add_spec(SpecKind::External(vec![s]), unit.span);
        }
    }
}

/// The prefix of the names of all stubs' COMMON blocks.
pub(super) const STUB_BLOCK: &str = "FARFELSTACK";

/// The name of the values in these blocks.
const STUB_VALUES: &str = "FARFELST";

/// Returns the stub that the tool reads in place of a support routine, in fixed form.
pub(super) fn stub(name: &str) -> String {
    let mut out = String::new();
    let Some(r) = routine(name) else {
        // Repetition markers: they keep the integers of the stack together.
        let _ = write!(
            out,
            "      SUBROUTINE {name}\n      INTEGER IST, {STUB_VALUES}\n      COMMON /{STUB_BLOCK}/ IST, {STUB_VALUES}(2)\n      IST = IST + {STUB_VALUES}(1)\n      END\n\n"
        );
        return out;
    };
    let ty = r.ty().unwrap_or("INTEGER");
    let (args, dims) = if r.array { ("V, N", "(N)") } else { ("V", "") };
    let _ = writeln!(out, "      SUBROUTINE {name}({args})");
    if r.array {
        out += "      INTEGER N, I\n";
    }
    // The size does not matter, as long as the index is not constant.
    let _ = write!(
        out,
        "      {ty} V{dims}, {STUB_VALUES}\n      INTEGER IST\n      COMMON /{STUB_BLOCK}{}/ IST, {STUB_VALUES}(2)\n",
        r.kind
    );
    let element = if r.array {
        out += "      DO I = 1, N\n";
        "V(I)"
    } else {
        "V"
    };
    if r.push {
        let _ = write!(
            out,
            "      IST = IST + 1\n      {STUB_VALUES}(IST) = {element}\n"
        );
    } else {
        let _ = write!(
            out,
            "      {element} = {STUB_VALUES}(IST)\n      IST = IST - 1\n"
        );
    }
    if r.array {
        out += "      END DO\n";
    }
    out += "      END\n\n";
    out
}

/// How a routine of the stack is called with derivatives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pair {
    /// With the value, then its derivative.
    One,
    /// With the value alone: its derivative is zero, or not wanted.
    Zero,
    /// With the value, then its derivatives, whose number is the last argument.
    Many,
}

/// Returns a subroutine `name` that pushes or pops values with their derivatives.
pub(super) fn pair(r: Routine<'_>, name: &str, pair: Pair) -> Option<String> {
    let ty = r.real()?;
    let verb = if r.push { "PUSH" } else { "POP" };
    let one = format!("{verb}{}", r.kind);
    let (mut args, mut declare, mut value, mut derivative) = (
        vec!["V"],
        "V".to_owned(),
        format!("{one}(V)"),
        format!("{one}(VD)"),
    );
    let mut integers = Vec::new();
    if r.array {
        declare = "V(N)".to_owned();
        value = format!("{one}ARRAY(V, N)");
        derivative = format!("{one}ARRAY(VD, N)");
        integers.push("N");
    }
    let mut d = if r.array { "VD(N)" } else { "VD" };
    match pair {
        Pair::One => args.push("VD"),
        Pair::Zero => {}
        Pair::Many => {
            args.push("VD");
            integers.push("ND");
            if r.array {
                d = "VD(ND, N)";
                derivative = format!("{one}ARRAY(VD, N*ND)");
            } else {
                d = "VD(ND)";
                derivative = format!("{one}ARRAY(VD, ND)");
            }
        }
    }
    declare = format!("{declare}, {d}");
    args.extend(&integers);
    let mut out = format!("      SUBROUTINE {name}({})\n", args.join(", "));
    if r.array && pair == Pair::Zero {
        integers.push("I");
    }
    if !integers.is_empty() {
        let _ = writeln!(out, "      INTEGER {}", integers.join(", "));
    }
    let _ = writeln!(out, "      {ty} {declare}");
    if pair == Pair::Zero && r.push {
        out += if r.array {
            "      DO I = 1, N\n        VD(I) = 0\n      END DO\n"
        } else {
            "      VD = 0\n"
        };
    }
    let (first, second) = if r.push {
        (value, derivative)
    } else {
        (derivative, value)
    };
    let _ = write!(
        out,
        "      CALL {first}\n      CALL {second}\n      END\n\n"
    );
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let r = routine("PUSHREAL8ARRAY").unwrap();
        assert_eq!((r.push, r.kind, r.array), (true, "REAL8", true));
        let r = routine("POPCONTROL3B").unwrap();
        assert_eq!((r.push, r.kind, r.array), (false, "CONTROL3B", false));
        assert_eq!(routine("PUSHREAL8_G2"), None);
        assert_eq!(routine("PUSHUP"), None);
        assert_eq!(routine("POPCONTROL9B"), None);
        assert!(is_support("ADSTACK_STARTREPEAT"));
        assert!(!is_support("ADSUM"));
    }

    #[test]
    fn a_pair_is_popped_in_the_other_order() {
        let text = |name: &str| pair(routine(name).unwrap(), "P", Pair::One).unwrap();
        assert_eq!(
            text("PUSHREAL8ARRAY") + &text("POPREAL8ARRAY"),
            "      SUBROUTINE P(V, VD, N)\n      INTEGER N\n      DOUBLE PRECISION V(N), VD(N)\n      CALL PUSHREAL8ARRAY(V, N)\n      CALL PUSHREAL8ARRAY(VD, N)\n      END\n\n      SUBROUTINE P(V, VD, N)\n      INTEGER N\n      DOUBLE PRECISION V(N), VD(N)\n      CALL POPREAL8ARRAY(VD, N)\n      CALL POPREAL8ARRAY(V, N)\n      END\n\n"
        );
    }
}
