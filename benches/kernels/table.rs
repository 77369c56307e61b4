//! The kernels: the subroutines and their arguments.

/// The amount of work of a call, which determines sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Vectors.
    One,
    /// A matrix and vectors.
    Two,
    /// Matrices.
    Three,
}

impl Level {
    /// Returns the order of vectors and matrices.
    pub fn size(self) -> usize {
        match self {
            Level::One => 1000,
            Level::Two => 200,
            Level::Three => 100,
        }
    }

    /// Returns the number of calls that are timed together, because clocks are too coarse for a single short
    /// one.
    pub fn calls(self) -> usize {
        match self {
            Level::One => 100,
            Level::Two => 10,
            Level::Three => 1,
        }
    }

    /// Returns how often that is repeated.
    pub fn rounds(self) -> usize {
        match self {
            Level::One => 200,
            Level::Two => 100,
            Level::Three => 40,
        }
    }
}

/// A kernel.
pub struct Kernel {
    /// The name in the table.
    pub name: &'static str,
    /// The name in BLAS.
    pub routine: &'static str,
    /// The amount of work.
    pub level: Level,
    /// Its arguments, separated by blanks: `'N'` and `1` are literal, `n` is the order, `s:X` a scalar, `v:X`
    /// a vector and `m:X` a matrix of double precision numbers, all of them differentiated. Arguments that
    /// the kernel assigns have a `!` after them.
    pub args: &'static str,
}

/// An argument of a kernel.
pub enum Arg {
    /// Text to write as it is.
    Fixed(&'static str),
    /// Active numbers.
    Active(Active),
}

/// An active argument.
pub struct Active {
    /// Its name.
    pub name: &'static str,
    /// The number of its elements.
    pub len: usize,
    /// Whether it is a matrix.
    pub matrix: bool,
    /// Whether the kernel assigns it.
    pub out: bool,
}

impl Kernel {
    /// The arguments.
    pub fn arguments(&self) -> Vec<Arg> {
        let n = self.level.size();
        let one = |word: &'static str| {
            let Some((kind, name)) = word.split_once(':') else {
                return Arg::Fixed(word);
            };
            Arg::Active(Active {
                name: name.trim_end_matches('!'),
                len: match kind {
                    "s" => 1,
                    "v" => n,
                    _ => n * n,
                },
                matrix: kind == "m",
                out: name.ends_with('!'),
            })
        };
        self.args.split_whitespace().map(one).collect()
    }

    /// Whether it is a function, whose result is the last argument.
    pub fn is_function(&self) -> bool {
        self.args.ends_with("s:r!")
    }
}

/// All of them.
pub const KERNELS: [Kernel; 19] = [
    kernel("daxpy", Level::One, "n s:a v:x 1 v:y! 1"),
    kernel("dscal", Level::One, "n s:a v:x! 1"),
    kernel("ddot", Level::One, "n v:x 1 v:y 1 s:r!"),
    kernel("dasum", Level::One, "n v:x 1 s:r!"),
    kernel("dnrm2", Level::One, "n v:x 1 s:r!"),
    kernel("dgemv N", Level::Two, "'N' n n s:a m:am n v:x 1 s:b v:y! 1"),
    kernel("dgemv T", Level::Two, "'T' n n s:a m:am n v:x 1 s:b v:y! 1"),
    kernel("dger", Level::Two, "n n s:a v:x 1 v:y 1 m:am! n"),
    kernel("dsymv", Level::Two, "'U' n s:a m:am n v:x 1 s:b v:y! 1"),
    kernel("dsyr2", Level::Two, "'U' n s:a v:x 1 v:y 1 m:am! n"),
    kernel("dtrmv", Level::Two, "'U' 'N' 'N' n m:am n v:x! 1"),
    kernel("dtrsv", Level::Two, "'U' 'N' 'N' n m:am n v:x! 1"),
    kernel(
        "dgemm NN",
        Level::Three,
        "'N' 'N' n n n s:a m:am n m:bm n s:b m:cm! n",
    ),
    kernel(
        "dgemm TN",
        Level::Three,
        "'T' 'N' n n n s:a m:am n m:bm n s:b m:cm! n",
    ),
    kernel(
        "dsymm",
        Level::Three,
        "'L' 'U' n n s:a m:am n m:bm n s:b m:cm! n",
    ),
    kernel("dsyrk", Level::Three, "'U' 'N' n n s:a m:am n s:b m:cm! n"),
    kernel(
        "dsyr2k",
        Level::Three,
        "'U' 'N' n n s:a m:am n m:bm n s:b m:cm! n",
    ),
    kernel(
        "dtrmm",
        Level::Three,
        "'L' 'U' 'N' 'N' n n s:a m:am n m:bm! n",
    ),
    kernel(
        "dtrsm",
        Level::Three,
        "'L' 'U' 'N' 'N' n n s:a m:am n m:bm! n",
    ),
];

const fn kernel(name: &'static str, level: Level, args: &'static str) -> Kernel {
    let routine = match name.as_bytes() {
        [b'd', b'g', b'e', b'm', b'v', ..] => "dgemv",
        [b'd', b'g', b'e', b'm', b'm', ..] => "dgemm",
        _ => name,
    };
    Kernel {
        name,
        routine,
        level,
        args,
    }
}
