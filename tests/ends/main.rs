//! Anything that would end a Fortran program ends the call, and later calls work.

mod bindings {
    #![forbid(unsafe_code)]
    farfel_runtime::include_bindings!();
}
use bindings::raw as fortran;
use farfel_runtime::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn place<T>(result: Result<T, Error>) -> (String, u32) {
    let Err(error) = result else { panic!("no error") };
    let said = error.to_string();
    match error {
        Error::Stop { line, .. }
        | Error::Pause { line, .. }
        | Error::Io { line, .. }
        | Error::Memory { line, .. }
        | Error::DivisionByZero { line, .. }
        | Error::ZeroStep { line, .. }
        | Error::Bounds { line, .. } => (said, line),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn check<T>(result: Result<T, Error>, line: u32, said: &str) {
    let (message, at) = place(result);
    assert_eq!((&*message, at), (&*format!("{said} (fortran/ends.f:{line})"), line));
}

fn main() {
    assert_eq!(fortran::quot(7, 2), Ok(3));
    assert_eq!(fortran::quot(-7, -1), Ok(7));
    assert_eq!(fortran::quot(i32::MIN, -1), Ok(i32::MIN));
    check(fortran::quot(7, 0), 2, "I/J divides by zero");
    assert_eq!(fortran::rest(-7, 4), Ok(-3));
    assert_eq!(fortran::rest(i32::MIN, -1), Ok(0));
    check(fortran::rest(7, 0), 5, "MOD(I, J) divides by zero");
    assert_eq!(fortran::modu(-7, 4), Ok(1));
    assert_eq!(fortran::modu(i64::MIN, -1), Ok(0));
    check(fortran::modu(7, 0), 10, "MODULO(I, J) divides by zero");
    assert_eq!(fortran::power(3, 4), Ok(81));
    assert_eq!(fortran::power(2, -1), Ok(0));
    assert_eq!(fortran::power(-1, -3), Ok(-1));
    check(fortran::power(0, -1), 13, "I**J divides by zero");
    assert_eq!(fortran::rounds(9, 4), Ok(3));
    assert_eq!(fortran::rounds(9, -4), Ok(0));
    check(fortran::rounds(9, 0), 17, "the step K is zero");
    let mut i = [6, 7, 8];
    assert_eq!(fortran::parts(3, 1, &mut i, &[2, -1, 3]), Ok(()));
    assert_eq!(i, [3, 7, 2]);
    check(fortran::parts(3, 1, &mut i, &[2, 0, 3]), 22, "I(1:N)/J(1:N) divides by zero");
    assert_eq!(fortran::nested(12, 4, 2), Ok(9));
    check(fortran::nested(12, 0, 2), 25, "I/J divides by zero");
    check(fortran::nested(12, 1, 2), 26, "I/(J/K) divides by zero");

    let none = "input or output failed: Cannot open file '/nowhere/x': No such file or directory";
    check(fortran::opens("/nowhere/x"), 31, none);
    check(fortran::opens("/nowhere/x"), 31, none);
    let mut x = 0.0;
    assert_eq!(fortran::reads("1.5", &mut x), Ok(()));
    assert_eq!(x, 1.5);
    check(fortran::reads("abc", &mut x), 36, "input or output failed: Bad real number in item 1 of list input");
    let Err(Error::Io { code: -1, .. }) = fortran::reads("", &mut x) else { panic!() };
    assert_eq!(fortran::reade("   12"), Ok(12));
    let Err(Error::Io { code, .. }) = fortran::reade("   AB") else { panic!() };
    assert!(code > 0);
    assert_eq!(fortran::asks("1.5"), 0);
    assert!(fortran::asks("abc") > 0);
    assert!(place(fortran::writes(1.0)).0.starts_with("input or output failed: Expected INTEGER"));
    fortran::prints(1.5);
    check(fortran::pauses(), 57, "Fortran program paused: MOUNT TAPE");
    check(fortran::exits(&mut 3), 60, "Fortran program stopped with code 3");
    check(fortran::aborts(), 63, "Fortran program stopped: ABORT");

    let mut x = 1.0;
    assert_eq!(fortran::room(1000, &mut x), Ok(()));
    assert_eq!(x, 2.0);
    check(fortran::room(1 << 40, &mut x), 68, "making room for W failed");
    assert_eq!(fortran::room(1000, &mut x), Ok(()));
    assert_eq!(x, 3.0);

    let folder = std::env::args().nth(1).unwrap();
    let file = format!("{folder}/table");
    assert_eq!(fortran::table(&file, 2), Ok(()));
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text, " C  .\n  1.0  1.0  1.0  1.0  4.0  2.0  4.0  4.0\n");
    check(fortran::table(&file, 4), 86, "Fortran program stopped: NO NAME");
    assert_eq!(fortran::table(&file, 3), Ok(()));

    let file = format!("{folder}/record");
    std::fs::write(&file, "3 1 2 3\n").unwrap();
    let (mut n, mut x) = (0, [0.0; 3]);
    assert_eq!(fortran::record(&file, &mut n, &mut x), Ok(()));
    assert_eq!((n, x), (3, [1.0, 2.0, 3.0]));
    std::fs::write(&file, "").unwrap();
    assert_eq!(fortran::record(&file, &mut n, &mut x), Ok(()));
    assert_eq!(n, -1);
    std::fs::write(&file, "4 5 6 7 8\n").unwrap();
    check(
        fortran::record(&file, &mut n, &mut x),
        105,
        "X(I) with subscript 4 is outside: there are 3 elements",
    );
    // The out-of-bounds element was stored in the first element, as there is no other.
    assert_eq!((n, x), (4, [8.0, 6.0, 7.0]));
    // The file is still usable: it is still open, and at its end.
    assert_eq!(fortran::record(&file, &mut n, &mut x), Ok(()));
    assert_eq!(n, -1);
    std::fs::write(&file, "2 1 2\n").unwrap();
    assert_eq!(fortran::record(&file, &mut n, &mut x), Ok(()));
    assert_eq!((n, x), (2, [1.0, 2.0, 7.0]));
    std::fs::write(&file, "2 3 1 2 3 4 5 6\n").unwrap();
    let mut a = [0.0; 4];
    let said = "A(I, J) with 1, 3 is outside: there are 4 elements";
    check(fortran::matrix(&file, &mut a), 117, said);
    assert_eq!(a, [6.0, 2.0, 3.0, 4.0]);
    check(fortran::matrix(&file, &mut a), 117, said);

    // Statement functions in an output list divide before the statement.
    let ratios = format!("{folder}/ratios");
    assert_eq!(fortran::ratios(&ratios, 12, 5), Ok(()));
    check(fortran::ratios(&ratios, 12, 2), 130, "I/(J - K) divides by zero");
    assert_eq!(fortran::ratios(&ratios, 12, 5), Ok(()));

    // Not if there is no element to read into.
    let file = format!("{folder}/empty");
    std::fs::write(&file, "1 2\n").unwrap();
    assert!(fortran::empty(&file, &mut n, &mut []).is_err());
    let lost = fortran::empty(&file, &mut n, &mut []).unwrap_err().to_string();
    assert!(lost.contains("in the midst of a statement with unit 21"), "{lost}");
    let lost = fortran::record(&file, &mut n, &mut x).unwrap_err().to_string();
    assert!(lost.contains("no file can be opened any more"), "{lost}");

    // An internal file is not a file.
    let said = "X(I) with subscript 4 is outside: there are 3 elements";
    check(fortran::intern("4 1 2 3 4", &mut n, &mut x), 138, said);
    assert_eq!((n, x), (4, [1.0, 2.0, 3.0]));
    assert_eq!(fortran::intern("1 9", &mut n, &mut x), Ok(()));
    check(fortran::waits(7), 142, "Fortran program stopped with code 7");
    check(fortran::waits(8), 143, "Fortran program paused: 12");

    // A closure that waits for a thread that is waiting for the lock.
    let caught = catch_unwind(AssertUnwindSafe(|| {
        fortran::calls(
            |_| {
                std::thread::scope(|s| {
                    let other = s.spawn(|| fortran::calls(|_| {}, &mut 1.0));
                    let caught = other.join().unwrap_err();
                    let said = caught.downcast_ref::<String>().unwrap();
                    assert!(said.contains("closures cannot wait for threads"), "{said}");
                });
            },
            &mut 2.0,
        );
    }));
    assert!(caught.is_ok());
    let mut x = 3.0;
    fortran::calls(|x| *x += 1.0, &mut x);
    println!("fine");
}
