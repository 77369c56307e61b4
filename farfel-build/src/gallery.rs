//! Example programs in Farfel, with the library that they share: documentation only.
//!
//! The texts are the files of the folder `gallery`, which the tests run.
//!
//! [root.ff]: self::root
//! [argmax.ff]: self::argmax
//! [descent.ff]: self::descent
//! [fit.ff]: self::fit
//! [sparse.ff]: self::sparse
//! [market.ff]: self::market
//! [saddle.ff]: self::saddle
//! [growth.ff]: self::growth
//! [implicit.ff]: self::implicit
//! [heat.ff]: self::heat
//! [network.ff]: self::network
//! [backprop.ff]: self::backprop
//! [lib/scalar.ff]: self::lib_scalar
//! [lib/vector.ff]: self::lib_vector
//! [lib/least.ff]: self::lib_least
//! [lib/sparse.ff]: self::lib_sparse
//! [lib/runge.ff]: self::lib_runge
//! [lib/linear.ff]: self::lib_linear
//! [lib/layers.ff]: self::lib_layers
//! [lib/check.ff]: self::lib_check
#![doc = include_str!("../gallery/README.md")]

/// Defines a module whose documentation is the text of a program.
macro_rules! shown {
    ($($module:ident $file:literal,)*) => {$(
        #[doc = concat!("`", $file, "`\n\n```fortran")]
        #[doc = include_str!(concat!("../gallery/", $file))]
        #[doc = "```"]
        pub mod $module {}
    )*};
}

shown! {
    root "root.ff",
    argmax "argmax.ff",
    descent "descent.ff",
    fit "fit.ff",
    sparse "sparse.ff",
    market "market.ff",
    saddle "saddle.ff",
    growth "growth.ff",
    implicit "implicit.ff",
    heat "heat.ff",
    network "network.ff",
    backprop "backprop.ff",
    lib_scalar "lib/scalar.ff",
    lib_vector "lib/vector.ff",
    lib_least "lib/least.ff",
    lib_sparse "lib/sparse.ff",
    lib_runge "lib/runge.ff",
    lib_linear "lib/linear.ff",
    lib_layers "lib/layers.ff",
    lib_check "lib/check.ff",
}
