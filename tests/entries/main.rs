#![forbid(unsafe_code)]
//! ENTRY points and alternate returns from Rust.

mod fortran {
    farfel_runtime::include_bindings!();
}
use farfel_runtime::Error;
use fortran::raw::*;

fn main() {
    store(3, &[1.0, 2.0, 3.0]).unwrap();
    let mut y = 0.0;
    fetch(2, &mut y).unwrap();
    assert_eq!(y, 2.0);
    fetch(0, &mut y).unwrap();
    assert_eq!(y, 2.0);
    assert!(matches!(fetch(11, &mut y), Err(Error::Bounds { line: 11, .. })));
    assert!(matches!(store(3, &[1.0]), Err(Error::Extent { .. })));
    assert_eq!((sq(3.0), cu(3.0)), (9.0, 27.0));
    assert_eq!((isp("p"), isq("p"), isq("q")), (true, false, true));

    let mut i = 0;
    assert_eq!(finds(3, &[1.0, 1.0, -2.0], &mut i).unwrap(), FindsReturn::Normal);
    assert_eq!(i, 2);
    assert_eq!(finds(3, &[1.0; 3], &mut i).unwrap(), FindsReturn::Alternate1);
    assert_eq!(finds(0, &[], &mut i).unwrap(), FindsReturn::Alternate2);
    assert!(finds(3, &[1.0; 2], &mut i).is_err());
    let mut k = 0;
    uses(&mut k).unwrap();
    assert_eq!(k, 1);
    println!("fine");
}
