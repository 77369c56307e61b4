//! Random programs with jumps.

use std::fmt::Write;

struct Generator {
    state: u64,
    out: String,
    label: u32,
    /// Labels that may be jumped to, by the block that contains them.
    labels: Vec<Vec<u32>>,
    /// The open loops: their names and the labels of their ends.
    loops: Vec<(String, u32)>,
    depth: usize,
    names: u32,
    left: i32,
}

/// A main program that calls `count` random subroutines and prints what they trace.
pub fn program(count: u64, seed: u64) -> String {
    let mut text = String::from("      PROGRAM P\n      COMMON /CALLS/ NCALLS\n");
    text += "      DO 10 I = 0, 7\n";
    for i in 0..count {
        writeln!(
            text,
            "      NCALLS = 0\n      T = I + {i}\n      K = I*7 + {i}"
        )
        .unwrap();
        writeln!(
            text,
            "      CALL S{i}(I, K, T)\n      PRINT *, 'S{i}', I, K, T, NCALLS"
        )
        .unwrap();
    }
    text += "   10 CONTINUE\n      END\n";
    text += "      LOGICAL FUNCTION ASK(K, M)\n      COMMON /CALLS/ NCALLS\n";
    text += "      NCALLS = NCALLS + 1\n      ASK = MOD(K + NCALLS, M) .EQ. 0\n      END\n";
    text += "      INTEGER FUNCTION NEXT(K, M)\n      COMMON /CALLS/ NCALLS\n";
    text += "      NCALLS = NCALLS + 1\n      NEXT = MOD(K + NCALLS, M)\n      END\n";
    for i in 0..count {
        text += &subroutine(i, seed.wrapping_mul(1_000_003) + i);
    }
    text
}

fn subroutine(number: u64, seed: u64) -> String {
    let mut g = Generator {
        state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        out: String::new(),
        label: 10,
        labels: Vec::new(),
        loops: Vec::new(),
        depth: 0,
        names: 0,
        left: 40,
    };
    for _ in 0..8 {
        g.random(2);
    }
    let head = format!(
        "      SUBROUTINE S{number}(N, K, T)\n      LOGICAL ASK\n      NTICK = 0\n      JT = 0\n"
    );
    g.block(8);
    g.line("T = T + K");
    head + &g.out + "      END\n"
}

impl Generator {
    fn random(&mut self, n: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) % n
    }

    fn line(&mut self, text: &str) {
        writeln!(self.out, "      {text}").unwrap();
    }

    fn labelled(&mut self, label: u32, text: &str) {
        writeln!(self.out, "{label:5} {text}").unwrap();
    }

    fn new_label(&mut self) -> u32 {
        self.label += 10;
        self.label
    }

    fn trace(&mut self, what: &str) {
        let c = self.random(97);
        self.line(&format!("K = MOD(K*31 + {what} + {c}, 1009)"));
    }

    /// Ensures that no loop runs forever.
    fn tick(&mut self) {
        self.line("NTICK = NTICK + 1");
        self.line("IF (NTICK .GT. 200) RETURN");
    }

    fn block(&mut self, most: u64) {
        let n = 2 + self.random(most);
        let own: Vec<Option<u32>> = (0..n)
            .map(|_| (self.random(3) == 0).then(|| self.new_label()))
            .collect();
        self.labels.push(own.iter().flatten().copied().collect());
        self.depth += 1;
        for label in own {
            if let Some(l) = label {
                self.labelled(l, "CONTINUE");
                self.tick();
            }
            self.statement();
        }
        self.depth -= 1;
        self.labels.pop();
    }

    fn condition(&mut self) -> String {
        let (m, r) = (2 + self.random(4), self.random(3));
        match self.random(5) {
            0 => format!("ASK(K, {m})"),
            1 => format!("MOD(K, {m}) .NE. {r}"),
            2 => format!("K .GT. {}", 100 * self.random(10)),
            3 => format!("MOD(K, {m}) .EQ. {r} .OR. N .GT. 5"),
            _ => format!("MOD(K, {m}) .EQ. {r}"),
        }
    }

    fn target(&mut self) -> Option<u32> {
        let mut all: Vec<u32> = self.labels.concat();
        all.extend(self.loops.iter().map(|(_, l)| *l).filter(|l| *l > 0));
        if all.is_empty() {
            return None;
        }
        let i = self.random(all.len() as u64) as usize;
        Some(all[i])
    }

    fn jump(&mut self) -> String {
        let which = self.random(12);
        if let Some((name, _)) = self.loops.last().cloned()
            && which < 4
        {
            let i = self.random(self.loops.len() as u64) as usize;
            let outer = self.loops[i].0.clone();
            return match which {
                0 => "CYCLE".into(),
                1 => "EXIT".into(),
                2 => format!("CYCLE {outer}"),
                _ if outer == name => format!("EXIT {name}"),
                _ => format!("EXIT {outer}"),
            };
        }
        match self.target() {
            Some(l) if which < 11 => format!("GOTO {l}"),
            _ => "RETURN".into(),
        }
    }

    fn statement(&mut self) {
        self.left -= 1;
        let deep = self.depth > 4 || self.left < 0;
        match self.random(if deep { 7 } else { 16 }) {
            0 => self.trace("0"),
            1..=3 => {
                let (c, j) = (self.condition(), self.jump());
                self.line(&format!("IF ({c}) {j}"));
            }
            4 => {
                if let (Some(a), Some(b), Some(c)) = (self.target(), self.target(), self.target()) {
                    match self.random(3) {
                        0 => {
                            let e = ["K - 500", "MOD(K, 3) - 1", "NEXT(K, 3) - 1", "T - 3.0"];
                            let e = e[self.random(4) as usize];
                            self.line(&format!("IF ({e}) {a}, {b}, {c}"));
                            // Otherwise what follows would be unreachable.
                            let l = self.new_label();
                            self.labelled(l, "CONTINUE");
                        }
                        1 => self.line(&format!("GOTO ({a}, {b}, {c}, {a}), NEXT(K, 7)")),
                        _ => self.line(&format!("GOTO ({a}, {b}), MOD(K, 5)")),
                    }
                }
                self.trace("1");
            }
            5 => {
                self.trace("2");
                self.line("T = T*0.5 + K");
            }
            6 => {
                let j = self.jump();
                let c = self.condition();
                self.line(&format!("IF ({c}) THEN"));
                self.trace("3");
                self.line(&j);
                self.line("END IF");
            }
            7..=9 => {
                let c = self.condition();
                self.line(&format!("IF ({c}) THEN"));
                self.block(3);
                if self.random(3) == 0 {
                    let c = self.condition();
                    self.line(&format!("ELSE IF ({c}) THEN"));
                    self.block(2);
                }
                if self.random(2) == 0 {
                    self.line("ELSE");
                    self.block(3);
                }
                self.line("END IF");
            }
            10 => {
                self.names += 1;
                let name = format!("C{}", self.names);
                self.line(&format!("{name}: SELECT CASE (MOD(K, 6))"));
                self.line("CASE (0, 2:3)");
                self.block(2);
                if self.random(2) == 0 {
                    self.line(&format!("IF (K .GT. 500) EXIT {name}"));
                    self.trace("4");
                }
                self.line("CASE (1)");
                self.block(2);
                if self.random(2) == 0 {
                    self.line("CASE DEFAULT");
                    self.block(2);
                }
                self.line(&format!("END SELECT {name}"));
            }
            11 => {
                // Two labels, one of which is chosen at run time.
                if let (Some(a), Some(b)) = (self.target(), self.target()) {
                    self.line(&format!("ASSIGN {a} TO JT"));
                    let c = self.condition();
                    self.line(&format!("IF ({c}) ASSIGN {b} TO JT"));
                    let c = self.condition();
                    self.line(&format!("IF ({c}) GOTO JT, ({a}, {b})"));
                }
                self.trace("5");
            }
            _ => self.a_loop(),
        }
    }

    fn a_loop(&mut self) {
        self.names += 1;
        let (n, end) = (self.names, self.new_label());
        let name = format!("L{n}");
        let var = format!("I{n}");
        let kind = self.random(8);
        let (a, b) = (self.random(4), self.random(9));
        let control = match kind {
            0 => format!("{var} = {a}, N"),
            1 => format!("{var} = N, {a}, -1"),
            2 => format!("{var} = {a}, {b}, {}", 1 + self.random(3)),
            3 => format!("{var} = NEXT(K, 5), {b} + NEXT(K, 3), 1 + NEXT(K, 2)"),
            4 => format!("X{n} = 0.25, {b}*0.5, 0.25"),
            5 => "WHILE (MOD(K, 5) .NE. 2)".into(),
            6 => "WHILE (.NOT. ASK(K, 4))".into(),
            _ => String::new(),
        };
        let var = if kind == 4 {
            format!("INT(8*X{n})")
        } else {
            var
        };
        // With a name, or with a label at its end that is jumped to.
        let by_label = self.random(2) == 0;
        let label = if by_label { end } else { 0 };
        if by_label && kind < 7 {
            self.line(&format!("{name}: DO {end}, {control}"));
        } else {
            self.line(&format!("{name}: DO {control}"));
        }
        let label = if kind < 7 { label } else { 0 };
        self.loops.push((name.clone(), label));
        if kind >= 5 {
            self.tick();
        }
        self.block(4);
        if kind < 5 {
            self.trace(&var);
        } else {
            self.trace("6");
        }
        if kind == 7 {
            let c = self.condition();
            self.line(&format!("IF ({c}) EXIT {name}"));
        }
        self.loops.pop();
        if label > 0 {
            self.labelled(label, &format!("END DO {name}"));
        } else {
            self.line(&format!("END DO {name}"));
        }
        if kind < 5 {
            self.trace(&var);
        }
    }
}
