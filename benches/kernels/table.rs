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
    /// The maximum times of the tangent and the adjoint relative to the kernel, at each level of optimization.
    pub limits: [[f64; 2]; 2],
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
    kernel(
        "daxpy",
        Level::One,
        "n s:a v:x 1 v:y! 1",
        [[3.1, 2.3], [4.0, 4.3]],
    ),
    kernel(
        "dscal",
        Level::One,
        "n s:a v:x! 1",
        [[2.1, 3.6], [3.4, 10.3]],
    ),
    kernel(
        "ddot",
        Level::One,
        "n v:x 1 v:y 1 s:r!",
        [[1.8, 1.0], [1.8, 0.4]],
    ),
    kernel(
        "dasum",
        Level::One,
        "n v:x 1 s:r!",
        [[1.7, 0.8], [1.7, 0.5]],
    ),
    kernel(
        "dnrm2",
        Level::One,
        "n v:x 1 s:r!",
        [[2.9, 4.3], [2.9, 4.3]],
    ),
    kernel(
        "dgemv N",
        Level::Two,
        "'N' n n s:a m:am n v:x 1 s:b v:y! 1",
        [[1.8, 2.8], [4.4, 5.7]],
    ),
    kernel(
        "dgemv T",
        Level::Two,
        "'T' n n s:a m:am n v:x 1 s:b v:y! 1",
        [[2.2, 3.9], [1.3, 2.2]],
    ),
    kernel(
        "dger",
        Level::Two,
        "n n s:a v:x 1 v:y 1 m:am! n",
        [[1.8, 1.5], [2.9, 1.7]],
    ),
    kernel(
        "dsymv",
        Level::Two,
        "'U' n s:a m:am n v:x 1 s:b v:y! 1",
        [[1.9, 2.9], [1.5, 2.1]],
    ),
    kernel(
        "dsyr2",
        Level::Two,
        "'U' n s:a v:x 1 v:y 1 m:am! n",
        [[1.8, 1.6], [2.9, 2.6]],
    ),
    kernel(
        "dtrmv",
        Level::Two,
        "'U' 'N' 'N' n m:am n v:x! 1",
        [[1.6, 2.5], [3.6, 4.8]],
    ),
    kernel(
        "dtrsv",
        Level::Two,
        "'U' 'N' 'N' n m:am n v:x! 1",
        [[1.9, 2.7], [1.9, 3.0]],
    ),
    kernel(
        "dgemm NN",
        Level::Three,
        "'N' 'N' n n n s:a m:am n m:bm n s:b m:cm! n",
        [[1.9, 2.8], [3.3, 4.8]],
    ),
    kernel(
        "dgemm TN",
        Level::Three,
        "'T' 'N' n n n s:a m:am n m:bm n s:b m:cm! n",
        [[2.0, 3.1], [1.4, 2.4]],
    ),
    kernel(
        "dsymm",
        Level::Three,
        "'L' 'U' n n s:a m:am n m:bm n s:b m:cm! n",
        [[2.2, 3.3], [1.8, 2.7]],
    ),
    kernel(
        "dsyrk",
        Level::Three,
        "'U' 'N' n n s:a m:am n s:b m:cm! n",
        [[1.9, 2.9], [3.1, 4.0]],
    ),
    kernel(
        "dsyr2k",
        Level::Three,
        "'U' 'N' n n s:a m:am n m:bm n s:b m:cm! n",
        [[1.8, 3.0], [3.3, 4.8]],
    ),
    kernel(
        "dtrmm",
        Level::Three,
        "'L' 'U' 'N' 'N' n n s:a m:am n m:bm! n",
        [[1.8, 3.0], [3.7, 5.1]],
    ),
    kernel(
        "dtrsm",
        Level::Three,
        "'L' 'U' 'N' 'N' n n s:a m:am n m:bm! n",
        [[1.4, 2.3], [3.0, 3.5]],
    ),
];

const fn kernel(
    name: &'static str,
    level: Level,
    args: &'static str,
    limits: [[f64; 2]; 2],
) -> Kernel {
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
        limits,
    }
}
