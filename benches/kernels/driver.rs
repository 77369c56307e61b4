//! Generation of the main program that times one kernel with its tangent and its adjoint, and checks them.

use crate::table::{Active, Arg, Kernel};
use std::fmt::Write as _;

/// Returns the name of the subroutine to differentiate.
pub fn head(kernel: &Kernel) -> String {
    match kernel.is_function() {
        true => format!("k{}", kernel.routine),
        false => kernel.routine.to_owned(),
    }
}

/// Returns a subroutine that wraps a function; nothing for a kernel that is a subroutine.
pub fn wrapper(kernel: &Kernel) -> String {
    if !kernel.is_function() {
        return String::new();
    }
    let mut names = Vec::new();
    let mut values = Vec::new();
    let mut integers = Vec::new();
    let mut reals = Vec::new();
    for (i, arg) in kernel.arguments().iter().enumerate() {
        match arg {
            Arg::Fixed(_) => {
                names.push(format!("I{i}"));
                integers.push(format!("I{i}"));
                values.push(format!("I{i}"));
            }
            Arg::Active(a) if a.out => {
                names.push(a.name.to_owned());
                reals.push(a.name.to_owned());
            }
            Arg::Active(a) => {
                names.push(a.name.to_owned());
                values.push(a.name.to_owned());
                reals.push(format!("{}(*)", a.name));
            }
        }
    }
    let routine = kernel.routine;
    format!(
        "      SUBROUTINE K{routine}({})\n      INTEGER {}\n      DOUBLE PRECISION {}, {routine}\n      \
         R = {routine}({})\n      END\n",
        names.join(", "),
        integers.join(", "),
        reals.join(", "),
        values.join(", ")
    )
}

/// Returns the main program, in free form. `tangent` and `adjoint` are the names of the derivatives.
///
/// It prints the nanoseconds per call of the kernel, of its tangent and of its adjoint, and three errors,
/// relative to the numbers compared: of the primal results computed with a tangent, of the tangent compared
/// with central differences, and of the adjoint by the dot product. With `memory`, the kernel's dummy arguments
/// and an expression in them, also the bytes that an adjoint has on the heap, and the value of the expression.
pub fn program(
    kernel: &Kernel,
    tangent: &str,
    adjoint: Option<&str>,
    rounds: usize,
    memory: Option<(&Vec<String>, &String)>,
) -> String {
    let args = kernel.arguments();
    let active: Vec<&Active> = args
        .iter()
        .filter_map(|a| match a {
            Arg::Active(a) => Some(a),
            Arg::Fixed(_) => None,
        })
        .collect();
    let mut t = String::from("program bench\n  implicit none\n");
    let mut line = |text: String| {
        let _ = writeln!(t, "{text}");
    };
    line(format!(
        "  integer, parameter :: n = {}",
        kernel.level.size()
    ));
    for a in &active {
        let len = a.len;
        let names: Vec<String> = ["", "_d", "_b", "_0", "_d0", "_b0", "_p", "_m"]
            .map(|s| format!("{}{s}({len})", a.name))
            .into();
        line(format!("  double precision, save :: {}", names.join(", ")));
    }
    line("  double precision :: times(3) = 1d99, errors(3) = 0, scale, one, two".into());
    line("  double precision, parameter :: h = 1d-5".into());
    line("  integer :: round = 0, seed = 1".into());
    line("  double precision :: peak = 0, promised = 0".into());
    line("  double precision, external :: peakrd".into());
    for (i, a) in active.iter().enumerate() {
        let name = a.name;
        line(format!(
            "  call fill({name}_0, {}, {})",
            a.len,
            logical(a.matrix)
        ));
        line(format!(
            "  call fill({name}_d0, {}, {})",
            a.len,
            logical(a.matrix)
        ));
        match a.out {
            true => line(format!(
                "  call fill({name}_b0, {}, {})",
                a.len,
                logical(a.matrix)
            )),
            false => line(format!("  {name}_b0 = 0d0")),
        }
        if i > 0 && a.len == 1 {
            line(format!("  {name}_0 = {name}_0*0.9d0"));
        }
    }
    // Finite differences, then the tangent at the same point.
    for (to, sign) in [("_p", '+'), ("_m", '-')] {
        for a in &active {
            line(format!("  {0} = {0}_0 {sign} h*{0}_d0", a.name));
        }
        line("  call primal(1)".into());
        for a in &active {
            line(format!("  {0}{to} = {0}", a.name));
        }
    }
    line("  call restore".into());
    line("  call forward(1)".into());
    line("  scale = 0".into());
    for a in active.iter().filter(|a| a.out) {
        line(format!("  scale = max(scale, maxval(abs({}_d)))", a.name));
    }
    for a in active.iter().filter(|a| a.out) {
        line(format!(
            "  errors(2) = max(errors(2), maxval(abs(({0}_p - {0}_m)/(2*h) - {0}_d))/scale)",
            a.name
        ));
        line(format!("  {0}_p = {0}", a.name));
        line(format!("  {0}_m = {0}_d", a.name));
    }
    line("  call restore".into());
    line("  call primal(1)".into());
    for a in active.iter().filter(|a| a.out) {
        line(format!(
            "  errors(1) = max(errors(1), maxval(abs({0}_p - {0}))/maxval(abs({0})))",
            a.name
        ));
    }
    if adjoint.is_some() {
        line("  call restore".into());
        line("  call reverse(1)".into());
        line("  one = 0\n  two = 0\n  scale = 0".into());
        for a in &active {
            line(format!("  two = two + sum({0}_b*{0}_d0)", a.name));
            line(format!("  scale = scale + sum(abs({0}_b*{0}_d0))", a.name));
            if a.out {
                line(format!("  one = one + sum({0}_b0*{0}_m)", a.name));
            }
        }
        line("  errors(3) = abs(one - two)/scale".into());
    }
    let calls = kernel.level.calls();
    line(format!("  do round = 1, {rounds}"));
    line(format!("    call primal({calls})"));
    line(format!("    call forward({calls})"));
    if adjoint.is_some() {
        line(format!("    call reverse({calls})"));
    }
    line("  end do".into());
    if memory.is_some() && adjoint.is_some() {
        line("  call restore".into());
        line("  call peakst".into());
        line("  call reverse(1)".into());
        line("  peak = peakrd()".into());
        line("  call promise".into());
    }
    match memory {
        Some(_) => line("  print '(8es16.6)', times, errors, peak, promised".into()),
        None => line("  print '(6es16.6)', times, errors".into()),
    }
    line("contains".into());
    let head = head(kernel);
    let ways = [
        ("primal", Some(head.as_str()), None),
        ("forward", Some(tangent), Some("_d")),
        ("reverse", adjoint, Some("_b")),
    ];
    for (i, (name, called, suffix)) in ways.into_iter().enumerate() {
        let Some(called) = called else {
            continue;
        };
        let mut actuals = Vec::new();
        for arg in &args {
            match arg {
                Arg::Fixed(text) => actuals.push((*text).to_owned()),
                Arg::Active(a) => {
                    actuals.push(first(a, ""));
                    actuals.extend(suffix.map(|s| first(a, s)));
                }
            }
        }
        line(format!("  subroutine {name}(calls)"));
        line("    integer :: calls, i".into());
        line("    integer(8) :: before, after, rate".into());
        line(format!("    external :: {called}"));
        // The first call warms the caches; nothing else may evict the data.
        line("    if (round > 0) then".into());
        for a in &active {
            if a.out {
                line(format!("      {0} = {0}_0", a.name));
            }
            if let Some(s) = suffix.filter(|s| a.out || *s == "_b") {
                line(format!("      {0}{s} = {0}{s}0", a.name));
            }
        }
        line(format!(
            "      call {called}( &\n        {})",
            actuals.join(", &\n        ")
        ));
        line("    end if".into());
        line("    call system_clock(before, rate)".into());
        line("    do i = 1, calls".into());
        line(format!(
            "      call {called}( &\n        {})",
            actuals.join(", &\n        ")
        ));
        line("    end do".into());
        line("    call system_clock(after)".into());
        line(format!(
            "    times({0}) = min(times({0}), 1d9*dble(after - before)/dble(rate)/calls)",
            i + 1
        ));
        line(format!("  end subroutine {name}"));
    }
    if let Some((dummies, promised)) = memory {
        line("  subroutine promise".into());
        for (name, arg) in dummies.iter().zip(&args) {
            if let Arg::Fixed(text) = arg
                && !text.starts_with('\'')
            {
                // The kernel's N is the program's `n`.
                line(format!("    integer, parameter :: {name}_ = {text}"));
            }
        }
        let mut of_dummies = String::new();
        let mut rest = promised.as_str();
        while let Some(at) = rest.find(|c: char| c.is_ascii_alphabetic()) {
            let (before, word) = rest.split_at(at);
            let end = word.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let (word, after) = word.split_at(end.unwrap_or(word.len()));
            of_dummies.push_str(before);
            of_dummies.push_str(word);
            if dummies.iter().any(|d| d == word) {
                of_dummies.push('_');
            }
            rest = after;
        }
        of_dummies.push_str(rest);
        line(format!(
            "    promised = {}",
            of_dummies.replace(" + ", " + &\n      ")
        ));
        line("  end subroutine promise".into());
    }
    line("  subroutine restore".into());
    for a in &active {
        line(format!(
            "    {0} = {0}_0\n    {0}_d = {0}_d0\n    {0}_b = {0}_b0",
            a.name
        ));
    }
    line("  end subroutine restore".into());
    t.push_str(FILL);
    t.push_str("end program bench\n");
    t
}

/// Returns a LOGICAL constant.
fn logical(value: bool) -> &'static str {
    match value {
        true => ".true.",
        false => ".false.",
    }
}

/// Returns the variable, or the first element of an array.
fn first(a: &Active, suffix: &str) -> String {
    match a.len {
        1 => format!("{}{suffix}(1)", a.name),
        _ => format!("{}{suffix}", a.name),
    }
}

/// Numbers of both signs with magnitudes from 0.5 to 1; matrices are small except for their diagonal, so that
/// products with their powers and inverses stay moderate.
const FILL: &str = "  \
  subroutine fill(a, len, matrix)
    integer :: len, i
    double precision :: a(len)
    logical :: matrix
    do i = 1, len
      seed = mod(seed*1103 + 12345, 65536)
      a(i) = 0.5d0 + mod(seed/16, 1024)/2048d0
      if (mod(seed/64, 2) == 1) a(i) = -a(i)
      if (matrix) a(i) = a(i)/n
      if (matrix .and. mod(i - 1, n + 1) == 0) a(i) = 0.8d0 + abs(a(i))
    end do
  end subroutine fill
";
