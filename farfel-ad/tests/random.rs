//! Random programs: branches, loops, jumps, calls, COMMON, arrays. Jacobians by AD against differences.
//! `FARFEL_AD_SEED=n` generates other programs than the default ones.

use crate::support::jacobian::{Case, check_cases, check_second};
use std::fmt::Write;

/// A small random number generator (Steele, Lea and Flood's SplitMix64), so that runs are reproducible.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

/// Writes one unit's statements.
struct Writer<'r> {
    random: &'r mut Random,
    out: String,
    scalars: &'static [&'static str],
    arrays: &'static [&'static str],
    /// Units with a lower number may be called.
    level: usize,
    label: usize,
    loops: usize,
    budget: usize,
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        self.labelled("     ", text);
    }

    /// A statement on as many lines as it needs.
    fn labelled(&mut self, label: &str, text: &str) {
        for (i, part) in text.as_bytes().chunks(56).enumerate() {
            let part = String::from_utf8_lossy(part);
            let start = if i == 0 { label } else { "     " };
            let mark = if i == 0 { ' ' } else { '+' };
            writeln!(self.out, "{start}{mark}{part}").unwrap();
        }
    }

    fn index(&mut self) -> String {
        match self.random.below(4) {
            0 if self.loops > 0 => format!("I{}", self.random.below(self.loops) + 1),
            1 => "MOD(K,3)+1".into(),
            n => format!("{}", n.clamp(1, 3)),
        }
    }

    fn element(&mut self) -> String {
        let a = self.random.pick(self.arrays);
        let i = self.index();
        format!("{a}({i})")
    }

    fn leaf(&mut self) -> String {
        match self.random.below(5) {
            0 => format!("0.{}D0", self.random.below(9) + 1),
            1 | 2 => self.random.pick(self.scalars).into(),
            _ => self.element(),
        }
    }

    /// Expressions stay bounded, so that differences stay accurate.
    fn expr(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.leaf();
        }
        let a = self.expr(depth - 1);
        let b = self.expr(depth - 1);
        match self.random.below(10) {
            0 => format!("SIN({a}*{b})"),
            1 => format!("COS({a} - {b})"),
            2 => format!("{a}/(2 + ({b})**2)"),
            3 => format!("0.6D0*{a} - 0.3D0*({b})"),
            4 => format!("SIN({a})*COS({b})"),
            5 => format!("-({a})/2"),
            6 => format!("EXP(-(({a})**2))"),
            7 if self.level > 0 => format!("H@({a}, {b})"),
            8 => format!("SQRT(1 + ({a})**2)/2"),
            _ => a,
        }
    }

    fn block(&mut self, depth: usize) {
        for _ in 0..self.random.below(3) + 2 {
            self.statement(depth);
        }
    }

    fn condition(&mut self) -> String {
        let n = self.random.below(3) + 2;
        let r = self.random.below(n);
        format!("MOD(K,{n}) .EQ. {r}")
    }

    fn statement(&mut self, depth: usize) {
        if self.budget == 0 {
            return;
        }
        self.budget -= 1;
        let choice = self.random.below(if depth == 0 { 7 } else { 12 });
        match choice {
            0 | 1 => {
                let t = self.random.pick(self.scalars);
                let e = self.expr(2);
                self.line(&format!("{t} = {e}"));
            }
            2 | 3 => {
                let t = self.element();
                let e = self.expr(2);
                self.line(&format!("{t} = {e}"));
            }
            4 => {
                let t = if self.random.below(2) == 0 {
                    self.random.pick(self.scalars).to_owned()
                } else {
                    self.element()
                };
                self.line(&format!("{t} = 0.5D0"));
            }
            5 => {
                self.line("K = K + 1");
            }
            6 => {
                let c = self.condition();
                let t = self.random.pick(self.scalars);
                let e = self.expr(1);
                self.line(&format!("IF ({c}) {t} = {e}"));
            }
            7 => {
                let c = self.condition();
                self.line(&format!("IF ({c}) THEN"));
                self.block(depth - 1);
                if self.random.below(2) == 0 {
                    let c = self.condition();
                    self.line(&format!("ELSE IF ({c}) THEN"));
                    self.block(depth - 1);
                }
                if self.random.below(2) == 0 {
                    self.line("ELSE");
                    self.block(depth - 1);
                }
                self.line("END IF");
            }
            8 if self.loops < 3 => {
                self.loops += 1;
                self.label += 1;
                let (l, v) = (self.label, self.loops);
                if self.random.below(2) == 0 {
                    self.line(&format!("DO {l} I{v} = 1, 3"));
                    self.block(depth - 1);
                    let t = self.element();
                    let e = self.expr(2);
                    self.labelled(&format!("{l:>5}"), &format!("{t} = {e}"));
                } else {
                    self.line(&format!("DO I{v} = 3, 1, -1"));
                    self.block(depth - 1);
                    if self.random.below(3) == 0 {
                        let c = self.condition();
                        let w = self.random.pick(&["CYCLE", "EXIT"]);
                        self.line(&format!("IF ({c}) {w}"));
                        self.block(depth - 1);
                    }
                    self.line("END DO");
                }
                self.loops -= 1;
            }
            9 => {
                self.label += 1;
                let l = self.label;
                let c = self.condition();
                self.line(&format!("IF ({c}) GOTO {l}"));
                self.block(depth - 1);
                writeln!(self.out, "{l:>5} CONTINUE").unwrap();
            }
            10 if self.random.below(3) == 0 && self.level > 0 => {
                let c = self.condition();
                self.line(&format!("IF ({c}) RETURN"));
            }
            _ if self.level > 0 => self.call(),
            _ => {}
        }
    }

    /// Assigned arguments are distinct variables, as the standard requires.
    fn call(&mut self) {
        let g = self.random.below(self.level) + 1;
        // COMMON variables as arguments would have two names in the callee.
        let scalars: Vec<&str> = self.scalars.iter().copied().filter(|s| *s != "E").collect();
        let arrays: Vec<&str> = self.arrays.iter().copied().filter(|s| *s != "U").collect();
        let n = scalars.len();
        let first = self.random.below(n);
        let p = scalars[first];
        // Often the old value of another variable, sometimes an expression.
        let second = (first + 1 + self.random.below(n - 1)) % n;
        let q = scalars[second];
        let others: Vec<&str> = self
            .scalars
            .iter()
            .copied()
            .filter(|s| *s != p && *s != q)
            .collect();
        let w = self.random.pick(&arrays);
        let r = match self.random.below(3) {
            0 => self.random.pick(&others).to_owned(),
            1 => "0.25D0".to_owned(),
            _ => format!(
                "SIN({})*{}",
                self.random.pick(&others),
                self.random.pick(&others)
            ),
        };
        let q = if self.random.below(3) == 0 && arrays.len() > 1 {
            let other = arrays.iter().copied().find(|a| *a != w).unwrap_or("W");
            format!("{other}({})", self.random.below(3) + 1)
        } else {
            q.to_owned()
        };
        self.line(&format!("CALL G@X{g}({p}, {q}, {r}, {w}, K)"));
    }
}

/// The text of one random case.
fn case(random: &mut Random) -> String {
    let mut text = String::new();
    let budget = 14;
    let mut unit = |header: &str,
                    declarations: &str,
                    level: usize,
                    scalars: &'static [&'static str],
                    arrays: &'static [&'static str],
                    end: &str| {
        let mut w = Writer {
            random,
            out: String::new(),
            scalars,
            arrays,
            level,
            label: 100,
            loops: 0,
            budget,
        };
        w.block(3);
        w.block(3);
        writeln!(
            text,
            "      {header}\n{declarations}{}{end}      END",
            w.out
        )
        .unwrap();
    };
    unit(
        "SUBROUTINE F@(X, Y)",
        "      DOUBLE PRECISION X(3), Y(3), A, B, C, D, E, W(3), U(3), Z
      COMMON /CC@/ E, U
      COMMON /ZZ@/ Z
      Z = X(3)
      K = 1
      A = X(1)
      B = X(2)
      C = X(3)
      D = 0.3D0
      E = X(1)*X(2)
      DO 10 I1 = 1, 3
      U(I1) = 0.1D0*I1
      Y(I1) = 0
   10 W(I1) = X(I1)
      CALL M@(A, B, C, D, W, K)
      Y(1) = A + E
      Y(2) = B*C + D + Z
      Y(3) = W(1) + W(2)*W(3) + U(2)
      END
      SUBROUTINE M@(A, B, C, D, W, K)
      DOUBLE PRECISION A, B, C, D, E, T, W(3), U(3), H@, V(3)
      COMMON /CC@/ E, U
      EXTERNAL H@
      T = 1
      V(1) = 1
      V(2) = A
      V(3) = 2
",
        3,
        &["A", "B", "C", "D", "T"],
        &["W", "V"],
        "",
    );
    for level in (1..=3).rev() {
        let header = format!("SUBROUTINE G@X{level}(P, Q, R, W, K)");
        unit(
            &header,
            "      DOUBLE PRECISION P, Q, R, W(*), E, U(3), S, V(2:4), H@
      COMMON /CC@/ E, U
      EXTERNAL H@
      S = 0.2D0
      V(2) = R
      V(3) = 0
      V(4) = S
      V(2) = V(2) + V(3)*V(4)
",
            level - 1,
            &["P", "Q", "S", "E"],
            &["W", "U"],
            "      S = V(3)\n",
        );
    }
    let kind = random.below(3);
    let body = [
        "      H@ = SIN(P)*Q\n",
        "      H@ = P\n      IF (Q .GT. -10) H@ = COS(P) + Q/2\n",
        "      H@ = SIN(Q) + P*0.1D0\n      Z = Z + 0.1D0*COS(Q)\n",
    ][kind];
    writeln!(
        text,
        "      FUNCTION H@(P, Q)\n      DOUBLE PRECISION H@, P, Q, Z\n      COMMON /ZZ@/ Z\n{body}      END"
    )
    .unwrap();
    text
}

/// Random cases: the same for one seed, different for each `stream`.
fn cases(stream: u64, count: usize) -> Vec<Case> {
    let seed: u64 = std::env::var("FARFEL_AD_SEED")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(1);
    let mut random = Random((seed + stream).wrapping_mul(0x1234_5678_9ABC_DEF1));
    (0..count)
        .map(|_| Case {
            name: "random",
            text: case(&mut random).into(),
        })
        .collect()
}

#[test]
fn random_programs() {
    check_cases(&cases(0, 20), 1e-5);
}

#[test]
fn random_programs_twice() {
    check_second(&cases(1 << 32, 8), 1e-4);
}
