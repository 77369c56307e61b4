//! Formats that gfortran's run-time library does not cope with, files that are in use, and texts that are read.

use crate::calls::{fenced, wrong};
use crate::fortran::raw as f;
use farfel_runtime::{Complex, Error};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

const HUGE: i32 = i32::MAX;

pub fn all() {
    formats();
    texts();
    files();
    lost();
}

fn formats() {
    let mut t = String::new();
    f::fmtarr(3, &["(F8.3,  ", "1X", ")"], 1.5, &mut t).unwrap();
    assert_eq!(t, "   1.500");
    let deep = vec!["(((((((("; 30_000];
    wrong("fmtarr deep", || f::fmtarr(30_000, &deep, 1.0, &mut t));
    wrong("fmtarr zero", || {
        f::fmtarr(2, &["(F8.3,\0", ")"], 1.0, &mut t)
    });
    wrong("fmtarr empty", || f::fmtarr(0, &[""; 0], 1.0, &mut t));
    wrong("fmtarr open", || f::fmtarr(1, &["(F8.3, 5H"], 1.0, &mut t));
    wrong("fmtarr short", || f::fmtarr(2, &["(F8.3,"], 1.0, &mut t));
    wrong("fmtele", || {
        f::fmtele(&["(F8.3)", "(", "\0"], 3, 1.0, &mut t)
    });
    wrong("fmtele outside", || {
        f::fmtele(&["(F8.3)", "(", "\0"], 4, 1.0, &mut t)
    });
    wrong("fmtcat deep", || {
        f::fmtcat("(".repeat(300_000), 1.0, &mut t)
    });
    wrong("fmtcat zero", || f::fmtcat("\0", 1.0, &mut t));
    f::fmtcal(1, 1.0, &mut t).unwrap();
    wrong("fmtcal", || f::fmtcal(2, 1.0, &mut t));
    wrong("fmtcal open", || f::fmtcal(3, 1.0, &mut t));
    f::fmtass(1, 1.0, &mut t).unwrap();
    wrong("fmtass", || f::fmtass(0, 1.0, &mut t));
    wrong("fmtass integer", || f::fmtass(2, 1.0, &mut t));
    f::fmtfil("(2147483647F8.3)", 1.0).unwrap();
    f::fmtfil("(9H99999999(, '(2147483647X', F8.3)", 1.0).unwrap();
    for format in [
        "(F10.2147483640)",
        "(F2147483647.2)",
        "(F10.2000000000)",
        "(D10.1000000000)",
        "(EN10.1000000000)",
        "(ES10.2147483647)",
        "(G0.2147483647)",
        "( F 0 . 2 147 483 647 )",
        "(B2147483647.1)",
        "(A2147483647)",
        "(2147483647P,F8.3)",
        "(T2147483647,F8.3)",
        "(2147483647X,F8.3)",
        "(1000000000/)",
        "(2147483647(2147483647(1X)))",
        "(2147483647(2147483647()))",
        "(1000000(1000000(1000000(:))))",
        "(9999999('xxxxxxxxx'))",
        "(9H         F1.214748364)",
        "(*(1X))",
        "(1X)",
        "(DT'x'(1,2))",
        "(F8.3",
        "F8.3",
        "(-1F8.2)",
    ] {
        wrong(&format!("fmtfil {format}"), || f::fmtfil(format, 1.0));
        wrong(&format!("fmtrea {format}"), || {
            f::fmtrea(format, &mut 0.0, "x")
        });
    }
}

fn texts() {
    let mut k = 0;
    f::named("&G I=5 /", &mut k).unwrap();
    assert_eq!(k, 5);
    for text in [
        "&G A(5)=1 /",
        "&G A(2000000000)=1 /",
        "&G A(-3)=1 /",
        "&G A=9*1 /",
        "&G A(1:9)=1,2,3 /",
        "&G A(1,1)=1 /",
        "&G A(99999999999999999999)=1 /",
        "&G C(1:9)='xyz' /",
        "&G D(1)(3:9)='q' /",
        "&G D=5*'abcdef' /",
        "&G I='a' /",
        "&G Z=1 /",
        "&G A(=1 /",
        "&G I=99999999999 /",
    ] {
        wrong(&format!("named {text}"), || f::named(text, &mut k));
    }
    let mut lines = vec![String::new(); 3];
    wrong("namew", || f::namew(1, &mut lines));
    wrong("namew short", || f::namew(1, &mut lines[..2]));
    wrong("intarr", || f::intarr(3, &mut lines));
    wrong("intarr more", || f::intarr(4, &mut lines));
    let mut t = String::new();
    for (i, j) in [(0, 3), (7, 9), (i32::MIN, 2), (1, HUGE), (5, 4)] {
        wrong(&format!("intsub {i} {j}"), || f::intsub(i, j, &mut t));
        wrong(&format!("intrd {i} {j}"), || {
            f::intrd(i, j, "12345678", &mut k)
        });
    }
    for text in [
        "'a','b','c',Q,(1,2)",
        "3*'abcdefgh',.X.,(1,2)",
        "'a",
        "'a' 'b' 'c' T (1,2",
        "9999999999*'a'",
        "-1*'a'",
        "",
    ] {
        let mut z = Complex::default();
        wrong(&format!("listrd {text}"), || {
            f::listrd(text, 3, &mut lines, &mut false, &mut z)
        });
    }
    for text in ["5 1 2 3 4 5", "4 1", "2000000000 1 2 3 4 5", "99*3"] {
        wrong(&format!("readn {text}"), || f::readn(text, &mut k));
        fenced(0.0, 9.0, 4, |x| {
            wrong(&format!("readi {text}"), || f::readi(text, 1000, x));
        });
    }
    // Which elements are read depends on what is read.
    let mut x = [0.0; 4];
    f::readi("3 1.5 1 2.5", 2, &mut x).unwrap();
    assert_eq!(x, [2.5, 0.0, 1.5, 0.0]);
    wrong("iosta", || f::iosta(&mut [0; 2], 3));
    wrong("iosta below", || f::iosta(&mut [0; 2], 0));
    for (unit, status, length) in [
        (81, "JUNK", 8),
        (81, "SCRATCH", 0),
        (81, "SCRATCH", i32::MIN),
        (-5, "SCRATCH", 1),
    ] {
        wrong(&format!("openx {unit} {status} {length}"), || {
            f::openx(unit, status, length)
        });
    }
    fenced(b' ', b'z', 5, |s| {
        wrong("advnce", || f::advnce(s, "MAYBE", &mut k));
    });
}

/// Calls something in the middle of a READ from unit 71, and returns how that ended, after the READ.
fn within<T>(mut call: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    f::iodo(|_| 3, 1, &[1.0, 2.0, 3.0])?;
    let mut inner = None;
    f::iosub(
        |i| {
            inner.get_or_insert_with(|| catch_unwind(AssertUnwindSafe(&mut call)));
            i
        },
        3,
        &mut [0.0; 3],
    )?;
    inner
        .unwrap()
        .unwrap_or_else(|payload| resume_unwind(payload))
}

fn files() {
    wrong("iodo", || f::iodo(|_| 9, 2, &[0.0; 8]));
    wrong("iodo panics", || {
        f::iodo(|_| panic!("in WRITE"), 2, &[0.0; 8])
    });
    wrong("iounit", || f::iounit(|_| -7));
    wrong("iounit panics", || f::iounit(|_| panic!("in a unit")));
    wrong("iorec", || f::iorec(|_| 0));
    wrong("iorec panics", || f::iorec(|_| panic!("in a record")));
    wrong("iorec closes", || {
        f::iorec(|i| {
            f::ioclos(72).unwrap();
            i
        })
    });
    f::ioclos(72).unwrap();
    // In WRITE, a closure in the bounds of a loop may use the same file.
    f::iodo(
        |_| {
            f::iowr(3).unwrap();
            f::iodo(|_| 1, 1, &[1.0]).unwrap();
            2
        },
        2,
        &[0.0; 8],
    )
    .unwrap();
    f::ioclos(71).unwrap();
    wrong("within write", || within(|| f::iowr(7)));
    wrong("within close", || within(|| f::ioclos(71)));
    wrong("within flush", || within(|| Ok(f::ioflsh(&mut 71))));
    wrong("within flush all", || within(|| Ok(f::ioflsa())));
    wrong("within FLUSH", || within(f::ioflss));
    wrong("within inquire", || {
        within(|| f::ioinqu(71, &mut String::new()))
    });
    wrong("within inquire file", || within(|| f::ioinqf(&mut 0)));
    wrong("within open", || within(|| f::ioopen(70)));
    wrong("within read", || {
        within(|| f::iosub(|i| i, 3, &mut [0.0; 3]))
    });
    within(|| f::ioclos(70)).unwrap();
    wrong("iosub", || {
        f::iodo(|_| 3, 1, &[1.0, 2.0, 3.0])?;
        f::iosub(|i| i + 2, 3, &mut [0.0; 4])
    });
}

/// A closure panics in the middle of a READ: the file cannot be used any more.
fn lost() {
    f::iodo(|_| 3, 1, &[1.0, 2.0, 3.0]).unwrap();
    let panics = || f::iosub(|_| panic!("in READ"), 3, &mut [0.0; 3]);
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    wrong("lost write", || f::iowr(3));
    wrong("lost flush", || Ok(f::ioflsh(&mut 71)));
    wrong("lost flush all", || Ok(f::ioflsa()));
    wrong("lost unit", || f::iounit(|_| 71));
    wrong("lost open", || f::ioopen(71));
}
