//! DCDFLIB: inverse distribution functions, whose zero finder uses jumps through ASSIGN and sets parameters
//! through ENTRY.
#![forbid(unsafe_code)]
mod bindings {
    farfel_runtime::include_bindings!();
}
use bindings::raw as f;

fn main() {
    // A direct call of DINVR in the middle of a search that was never started.
    let (mut x, mut left, mut high) = (1.0, false, false);
    println!("{}", f::dinvr(&mut 1, &mut x, 1.0, &mut left, &mut high).unwrap_err());
    // The 95th percentile of the chi-square distribution, from tables.
    for (df, table) in [(1.0, 3.841459), (10.0, 18.307038), (100.0, 124.342113)] {
        let (mut p, mut q, mut df, mut x) = (0.95, 0.05, df, 5.0);
        let (mut status, mut bound) = (9, 0.0);
        f::cdfchi(2, &mut p, &mut q, &mut x, &mut df, &mut status, &mut bound).unwrap();
        assert_eq!(status, 0);
        println!("{df} {x:.6}");
        assert!((x - table).abs() < 1e-6, "{x}");
    }
    // The degrees of freedom from the percentile, which uses DINVR and DZROR.
    let (mut p, mut q, mut df, mut x) = (0.95, 0.05, 1.0, 18.307038053275146);
    let (mut status, mut bound) = (9, 0.0);
    f::cdfchi(3, &mut p, &mut q, &mut x, &mut df, &mut status, &mut bound).unwrap();
    println!("{df:.6}");
}
