//! Synthetic large Farfel programs.
//!
//! A [`Project`] consists of families of subprograms. Each family has one exported subroutine with one AD
//! request (or two, nested) and a tree of functions below it, and shares only solvers, which take procedures
//! as arguments, with other families. The same settings generate the same text on every machine.

use std::fmt::Write as _;

/// Generates a program of about `lines` lines with `requests` AD requests, in about a hundred files: names
/// and texts.
pub fn generate(lines: usize, requests: usize) -> Vec<(String, String)> {
    Project::new(lines, requests).generate().files
}

/// The settings of a program to generate.
#[derive(Debug, Clone)]
pub struct Project {
    lines: usize,
    requests: usize,
    files: usize,
    reverse: bool,
    changed: Option<usize>,
}

/// A generated program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    /// Names and texts of its files.
    pub files: Vec<(String, String)>,
    /// The subroutines to export, in upper case: one for each family.
    pub exports: Vec<String>,
}

impl Generated {
    /// Returns the total number of lines of all files.
    pub fn lines(&self) -> usize {
        self.files
            .iter()
            .map(|(_, text)| text.lines().count())
            .sum()
    }
}

/// The maximum number of lines of a family; in a program with few requests, families without request make up
/// the rest.
const LARGEST_FAMILY: usize = 140;

/// The number of families that share solvers, since there is a limit on the copies of a subprogram.
const SOLVER_USERS: usize = 150;

/// Words whose first letters have the implicit type REAL.
const WORDS: [&str; 20] = [
    "DRAG", "HEAT", "FLUX", "COST", "YIELD", "DECAY", "SPRING", "ORBIT", "TORQUE", "PRICE", "WAVE",
    "CHARGE", "GROWTH", "RATE", "STRESS", "POWER", "THRUST", "DENSTY", "VOLUME", "ENERGY",
];

/// What the exported subroutine of a family does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A derivative of a function.
    Plain,
    /// Steps along the derivative of a nested function.
    Descent,
    /// Solves an equation through a solver: copies of library routines.
    Solve,
    /// Finds a maximum through solvers: two requests, one inside the other.
    Peak,
    /// A directional derivative with arrays, through subroutines.
    Arrays,
    /// No request.
    Quiet,
}

impl Project {
    /// Creates settings for about this many lines with exactly this many AD requests, in about a hundred
    /// files.
    pub fn new(lines: usize, requests: usize) -> Self {
        Project {
            lines,
            requests,
            files: 100,
            reverse: false,
            changed: None,
        }
    }

    /// Sets the maximum number of files; it is reached if there are as many families.
    pub fn files(mut self, files: usize) -> Self {
        self.files = files.max(1);
        self
    }

    /// Asks for adjoints in every fourth family that can have one.
    pub fn reverse(mut self, reverse: bool) -> Self {
        self.reverse = reverse;
        self
    }

    /// Changes a constant in the lowest function of one family, which nobody else calls.
    pub fn change_leaf(mut self, family: usize) -> Self {
        self.changed = Some(family);
        self
    }

    /// Writes the program.
    pub fn generate(&self) -> Generated {
        let kinds = self.kinds();
        let mut families: Vec<String> = Vec::new();
        let mut exports = Vec::new();
        let mut left = self.lines;
        let mut solvers = None;
        for (i, kind) in kinds.iter().enumerate() {
            let mut family = Family::new(i, *kind, self);
            if matches!(kind, Kind::Solve | Kind::Peak) && solvers != Some(i / SOLVER_USERS) {
                solvers = Some(i / SOLVER_USERS);
                family.solvers(i / SOLVER_USERS);
            }
            let budget = (left / (kinds.len() - i)).min(LARGEST_FAMILY);
            family.write(budget);
            left = left.saturating_sub(family.text.lines().count());
            exports.push(family.export());
            families.push(family.text);
        }
        while left > LARGEST_FAMILY / 4 {
            let mut family = Family::new(families.len(), Kind::Quiet, self);
            family.write(left.min(LARGEST_FAMILY));
            left = left.saturating_sub(family.text.lines().count());
            exports.push(family.export());
            families.push(family.text);
        }
        let count = self.files.min(families.len()).max(1);
        let mut files: Vec<(String, String)> = (0..count)
            .map(|f| (format!("part{:04}.ff", f + 1), String::new()))
            .collect();
        let total = families.len();
        for (i, text) in families.into_iter().enumerate() {
            files[i * count / total].1 += &text;
        }
        Generated { files, exports }
    }

    fn kinds(&self) -> Vec<Kind> {
        const CYCLE: [Kind; 8] = [
            Kind::Plain,
            Kind::Solve,
            Kind::Arrays,
            Kind::Descent,
            Kind::Solve,
            Kind::Plain,
            Kind::Arrays,
            Kind::Descent,
        ];
        let mut kinds = Vec::new();
        let mut left = self.requests;
        while left > 0 {
            let i = kinds.len();
            let kind = match i % 25 {
                24 if left > 1 => Kind::Peak,
                _ => CYCLE[i % CYCLE.len()],
            };
            left -= if kind == Kind::Peak { 2 } else { 1 };
            kinds.push(kind);
        }
        kinds
    }
}

/// A family that is being written.
struct Family {
    number: usize,
    kind: Kind,
    /// `HEAT17`: the topmost function; the names of the others have a number appended.
    base: String,
    adjoint: bool,
    changed: bool,
    dice: Dice,
    text: String,
}

/// Adds a line of text, which cannot fail for a String.
macro_rules! line {
    ($to:expr, $($format:tt)*) => {{
        let _ = writeln!($to.text, $($format)*);
    }};
}

impl Family {
    fn new(number: usize, kind: Kind, project: &Project) -> Self {
        let mut dice = Dice(number as u64 + 1);
        let word = WORDS[dice.below(WORDS.len())];
        Family {
            number,
            kind,
            base: format!("{word}{}", number + 1),
            adjoint: project.reverse && number % 4 == 3,
            changed: project.changed == Some(number),
            dice,
            text: String::new(),
        }
    }

    fn export(&self) -> String {
        format!("RUN{}", self.number + 1)
    }

    fn write(&mut self, budget: usize) {
        self.head();
        let mut number = 0;
        loop {
            // A function has about twelve lines.
            let last = self.text.lines().count() + 24 > budget;
            self.function(number, last);
            if last {
                break;
            }
            number += 1;
        }
    }

    /// Writes the exported subroutine, and the code between it and the topmost function.
    fn head(&mut self) {
        let (run, top) = (self.export(), self.base.clone());
        let solver = self.number / SOLVER_USERS + 1;
        line!(self, "C     {run}: family of {top}");
        match self.kind {
            Kind::Plain if self.adjoint => {
                line!(self, "      SUBROUTINE {run}(X, P, N, Y, DX, DP)");
                line!(self, "      ADR(COTANGENT(Y) = 1)");
                line!(self, "      Y = {top}(X, N)*P");
                line!(self, "      END ADR(DX = COTANGENT(X), DP = COTANGENT(P))");
            }
            Kind::Plain => {
                line!(self, "      SUBROUTINE {run}(X, N, Y, DY)");
                line!(self, "      ADF(X)");
                line!(self, "      Y = {top}(X, N)");
                line!(self, "      END ADF(DY = TANGENT(Y))");
            }
            Kind::Descent => {
                line!(self, "      SUBROUTINE {run}(P, X, N, Y)");
                line!(self, "        FUNCTION OBJECT(Z)");
                line!(self, "          OBJECT = P*{top}(Z, N) + Z*Z");
                line!(self, "        END");
                line!(self, "      DO 20 K = 1, N");
                if self.adjoint {
                    line!(self, "      ADR(COTANGENT(Y) = 1)");
                    line!(self, "      Y = OBJECT(X)");
                    line!(self, "      END ADR(DX = COTANGENT(X))");
                    line!(self, "   20 X = X - 0.1*DX");
                } else {
                    line!(self, "      ADF(X)");
                    line!(self, "      Y = OBJECT(X)");
                    line!(self, "      END ADF(DY = TANGENT(Y))");
                    line!(self, "   20 X = X - 0.1*DY");
                }
            }
            Kind::Solve | Kind::Peak => {
                let by = if self.kind == Kind::Solve {
                    "ROOT"
                } else {
                    "PEAK"
                };
                line!(self, "      SUBROUTINE {run}(P, Q, X, N)");
                line!(self, "        FUNCTION F(Z)");
                line!(self, "          F = {top}(Z, N)*P - Q");
                line!(self, "        END");
                line!(self, "      X = {by}{solver}(F, X, N)");
            }
            Kind::Arrays => {
                line!(self, "      SUBROUTINE {run}(X, D, N, Y, DY)");
                line!(self, "      DIMENSION X(12), D(12)");
                line!(self, "      ADF(TANGENT(X) = D)");
                line!(self, "      CALL SUM{run}(X, N, Y)");
                line!(self, "      END ADF(DY = TANGENT(Y))");
                line!(self, "      END");
                line!(self, "");
                line!(self, "      SUBROUTINE SUM{run}(X, N, Y)");
                line!(self, "      DIMENSION X(12), W(12)");
                line!(self, "      DO 10 I = 1, 12");
                line!(self, "   10 W(I) = {top}(X(I), N)");
                line!(self, "      Y = 0.0");
                line!(self, "      DO 20 I = 2, 12");
                line!(self, "   20 Y = Y + W(I)*W(I-1)");
            }
            Kind::Quiet => {
                line!(self, "      SUBROUTINE {run}(X, N, Y)");
                line!(self, "      Y = {top}(X, N)");
            }
        }
        line!(self, "      END");
        line!(self, "");
    }

    fn name(&self, number: usize) -> String {
        match number {
            0 => self.base.clone(),
            n => format!("{}X{n}", self.base),
        }
    }

    /// Writes a function; all but the last call the next one.
    fn function(&mut self, number: usize, last: bool) {
        let (name, next) = (self.name(number), self.name(number + 1));
        let common = self.dice.below(3) == 0;
        let data = self.dice.below(6) == 0;
        let inline = self.dice.below(5) == 0;
        line!(self, "C     Term {number} of {}.", self.base);
        line!(self, "      FUNCTION {name}(X, N)");
        if common {
            line!(self, "      COMMON /C{}/ SCALE, SHIFT, TABLE(8)", self.base);
        }
        if data {
            line!(self, "      DIMENSION W(4)");
            let w: Vec<String> = (0..4).map(|_| self.dice.constant()).collect();
            line!(self, "      DATA W /{}/", w.join(", "));
        }
        if inline {
            let (a, b) = (self.dice.constant(), self.dice.constant());
            line!(self, "      BEND(A) = {a}*A + A*A/({b} + A*A)");
        }
        line!(self, "      T = X");
        line!(self, "      U = {}", self.dice.constant());
        line!(self, "      V = X*{}", self.dice.constant());
        for _ in 0..1 + self.dice.below(3) {
            self.step("      ", "N");
        }
        if self.dice.below(2) == 0 {
            line!(self, "      DO 10 I = 1, N");
            if common {
                line!(self, "        T = T + SCALE*TABLE(MOD(I, 8) + 1)*U");
            }
            if data {
                line!(self, "        U = U + W(MOD(I, 4) + 1)*SIN(V)");
            }
            for _ in 0..1 + self.dice.below(3) {
                self.step("        ", "I");
            }
            line!(self, "   10 CONTINUE");
        } else {
            let limit = self.dice.constant();
            line!(self, "      IF (T .GT. {limit}) THEN");
            self.step("        ", "N");
            if data {
                line!(self, "        U = U*W(2) - V*W(3)");
            }
            line!(self, "      ELSE");
            self.step("        ", "N");
            if common {
                line!(self, "        V = V + SHIFT");
            }
            line!(self, "      END IF");
        }
        if inline {
            line!(self, "      V = BEND(V) + U");
        }
        let mut factor = self.dice.constant();
        if last && self.changed {
            factor += "25";
        }
        if last {
            line!(self, "      {name} = U + V - {factor}*T");
        } else {
            line!(self, "      {name} = U + {factor}*{next}(T - V, N)");
        }
        line!(self, "      END");
        line!(self, "");
    }

    /// Writes an assignment.
    fn step(&mut self, indent: &str, count: &str) {
        let (c, d) = (self.dice.constant(), self.dice.constant());
        let target = ["T", "U", "V"][self.dice.below(3)];
        let value = match self.dice.below(8) {
            0 => format!("{c}*SIN(T) + {d}*V"),
            1 => format!("U*V/({c} + T*T)"),
            2 => format!("EXP(-{c}*T*T)*U + V"),
            3 => format!("SQRT({c} + U*U) - {d}*V"),
            4 => format!("(T + {c}*U + {d}*V)/REAL({count})"),
            5 => format!("{c}*COS(U)*T - V**2*{d}"),
            6 => format!("ATAN(T*{c}) + MAX(U, {d})"),
            _ => format!("ABS(U - {c})*{d} + T*V"),
        };
        line!(self, "{indent}{target} = {value}");
    }

    /// Writes solvers that take procedures.
    fn solvers(&mut self, number: usize) {
        let k = number + 1;
        let _ = write!(
            self.text,
            "C     A zero of F near X0, by N steps of Newton's method.
      FUNCTION ROOT{k}(F, X0, N)
      EXTERNAL F
      X = X0
      DO 10 I = 1, N
      CALL SLOPE{k}(F, X, Y, DY)
   10 X = X - Y/DY
      ROOT{k} = X
      END

      SUBROUTINE SLOPE{k}(F, X, Y, DY)
      EXTERNAL F
      ADF(X)
      Y = F(X)
      END ADF(DY = TANGENT(Y))
      END

C     Where F is greatest.
      FUNCTION PEAK{k}(F, X0, N)
      EXTERNAL F
        FUNCTION RISE(X)
          RISE = GRAD{k}(F, X)
        END
      PEAK{k} = ROOT{k}(RISE, X0, N)
      END

      FUNCTION GRAD{k}(F, X)
      EXTERNAL F
      ADF(X)
      Y = F(X)
      END ADF(GRAD{k} = TANGENT(Y))
      END

"
        );
    }
}

/// A pseudorandom number generator (SplitMix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        // The remainder is below n.
        (self.next() % n as u64) as usize
    }

    fn constant(&mut self) -> String {
        format!("{}.{:02}", self.below(3), 1 + self.below(99))
    }
}
