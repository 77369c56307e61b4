#![deny(warnings)]
#![forbid(unsafe_code)]
//! Texts between Rust and Fortran.

mod fortran {
    farfel_runtime::include_bindings!();
}
use farfel_runtime::Error;

fn arrays() {
    let count = fortran::kount(3, &["steel", "tin", "steel and more"], "steel");
    assert_eq!(count, Ok(2));
    // Strings, bytes, and a text of another length.
    assert_eq!(fortran::kount(2, &[String::from("tin"), String::new()], String::from("tin  ")), Ok(1));
    assert_eq!(fortran::kount(1, &[b"\xff\xfe"], b"\xff\xfe"), Ok(1));
    assert_eq!(fortran::kount(0, &[""; 0], ""), Ok(0));
    assert_eq!(fortran::kount(-3, &[""; 0], ""), Ok(0));
    let Err(Error::Extent { needed: 3, got: 2, .. }) = fortran::kount(3, &["a", "b"], "") else { panic!() };
    let Err(Error::Extent { .. }) = fortran::kount(i32::MAX, &["a", "b"], "") else { panic!() };
    let many = vec!["steel"; 100_000];
    assert_eq!(fortran::kount(100_000, &many, "steel"), Ok(100_000));

    // Without a declared length, the longest text determines it.
    let (mut length, mut last) = (0, String::from("before"));
    assert_eq!(fortran::lastof(2, &["a", "größer"], &mut length, &mut last), Ok(()));
    assert_eq!((length, &*last), (8, "größ"));
    assert_eq!(fortran::lastof(2, &["", ""], &mut length, &mut last), Ok(()));
    assert_eq!((length, &*last), (0, ""));
    let Err(Error::Bounds { .. }) = fortran::lastof(0, &[""; 0], &mut length, &mut last) else { panic!() };

    let mut texts = vec![String::from("as before"); 5];
    assert_eq!(fortran::labels(2, 2, &mut texts), Ok(()));
    assert_eq!(texts, ["1,1", "2,1", "1,2", "2,2", "as"]);
    let Err(Error::Extent { needed: 6, got: 5, .. }) = fortran::labels(2, 3, &mut texts) else { panic!() };
    assert_eq!(fortran::labels(0, 3, &mut []), Ok(()));

    let mut bytes = [*b"abcd", *b"ef  ", *b"\xc3\xbf\xff!"];
    assert_eq!(fortran::around(3, &mut bytes, "#"), Ok(()));
    assert_eq!(bytes, [*b"#\xbf\xff!", *b"#f  ", *b"#bcd"]);
    let mut bytes = [vec![b'x'; 100], vec![b'y'; 100]];
    assert_eq!(fortran::around(2, &mut bytes, ""), Ok(()));
    assert_eq!((bytes[0][0], bytes[0][99], bytes[1][79], bytes[1][80]), (b' ', b'y', b'x', b' '));
    // Wrong lengths, too few elements, no elements, and elements of no length.
    let mut uneven = [vec![b'x'; 3], vec![]];
    let Err(error) = fortran::around(2, &mut uneven, "") else { panic!() };
    assert_eq!(
        error.to_string(),
        "around: argument `t` has 0 bytes in an element, and must have 3, as in the first element"
    );
    let Err(Error::Bounds { .. }) = fortran::around(3, &mut [[b' '; 3]; 2], "") else { panic!() };
    let Err(Error::Bounds { .. }) = fortran::around(1, &mut [[b' '; 3]; 0], "") else { panic!() };
    let Err(Error::Bounds { .. }) = fortran::around(2, &mut [[]; 2], "x") else { panic!() };
    assert_eq!(fortran::around(0, &mut [[b' '; 3]; 0], ""), Ok(()));

    let (mut texts, mut k) = (["AB", "CD", "EF"].map(String::from), 0);
    assert_eq!(fortran::old(&mut texts, &mut k), Ok(()));
    assert_eq!((texts, k), (["AB", "AB", "EF"].map(String::from), 65));
    let Err(Error::Extent { .. }) = fortran::old(&mut [String::new()], &mut k) else { panic!() };
    assert_eq!(fortran::first3(&["a", "b", "c"], &mut k), Ok(()));
    assert_eq!(k, 99);
    let Err(Error::Bounds { .. }) = fortran::first3(&["a", "b"], &mut k) else { panic!() };
}

fn lengths() {
    let (mut text, mut both) = (String::from("something longer"), ["", "x"].map(String::from));
    assert_eq!(fortran::backw(4, "abc", &mut text, &mut both), Ok(()));
    assert_eq!((&*text, both), (" cba", ["cba", " cba"].map(String::from)));
    let mut both = ["", "x"].map(String::from);
    assert_eq!(fortran::backw(2, "abc", &mut text, &mut both), Ok(()));
    assert_eq!((&*text, &both[0]), ("ba", &String::from("a")));
    assert_eq!(fortran::backw(0, "abc", &mut text, &mut both), Ok(()));
    assert_eq!(fortran::backw(i32::MIN, "abc", &mut text, &mut both), Ok(()));
    assert_eq!((&*text, &*both[1]), ("", ""));
    let Err(Error::Extent { .. }) = fortran::backw(1, "a", &mut text, &mut both[..1]) else { panic!() };
    assert_eq!(fortran::backw(1_000_000, "a", &mut text, &mut both), Ok(()));
    assert_eq!((text.len(), both[0].len()), (1_000_000, 999_999));
}

fn functions() {
    assert_eq!((&*fortran::word(7), &*fortran::word(-16)), ("word 7", "word"));
    // A byte that is no text of its own, and one that is no blank.
    assert_eq!((fortran::other(255), fortran::other(0)), ("\u{fffd}".into(), "\0".into()));
    assert_eq!(fortran::letter("abc", 2), Ok("b".into()));
    assert_eq!(fortran::letter("abc", 3), Ok("c".into()));
    let Err(Error::Bounds { .. }) = fortran::letter("abc", 4) else { panic!() };
    let Err(Error::Bounds { .. }) = fortran::letter("", 1) else { panic!() };
    let mut place = [b'.'; 8];
    fortran::twice("abc", &mut place);
    assert_eq!(&place, b"abcabc  ");
    fortran::twice("größe", &mut place[..4]);
    assert_eq!(&place, "gröbc  ".as_bytes());
    fortran::twice("abc", &mut []);
    let mut large = vec![b'.'; 10_000_000];
    fortran::twice("", &mut large);
    assert!(large.iter().all(|b| *b == b' '));
}

fn closures() {
    let mut seen = Vec::new();
    let all = fortran::each(
        |text, i| {
            seen.push((text.to_owned(), i));
            text.len() as i32
        },
        2,
        &["ab", "größer "],
    );
    let expected = [("ab", 1), ("größer", 2), ("end", 3), ("<ab      >", 0), ("b", -1)];
    assert_eq!(all, Ok(2 + 8 + 3 + 11 + 1));
    let expected = expected.map(|(text, i)| (text.to_owned(), i));
    // A blank before the closing bracket for each byte of the longest text that the first one does not have.
    assert_eq!(seen[..3], expected[..3]);
    assert_eq!((&*seen[3].0, seen[3].1), ("<ab       >", 0));
    assert_eq!(seen[4], expected[4]);

    // Bytes that are no text.
    let mut seen = String::new();
    let all = fortran::each(|text, i| { if i == 1 { seen = text.into() } 0 }, 1, &[b"\xff a "]);
    assert_eq!((all, &*seen), (Ok(0), "\u{fffd} a"));
    let Err(Error::Bounds { .. }) = fortran::each(|_, _| 0, 3, &["a", "b", "c"]) else { panic!() };

    let mut text = *b"abcdef";
    let mut lengths = Vec::new();
    let edited = fortran::edit(
        |text, step| {
            lengths.push(text.len());
            match step {
                1 => text[5] = b'!',
                2 => text.fill(b'-'),
                _ => text[0] = 0xff,
            }
        },
        &mut text,
        4,
    );
    assert_eq!((edited, lengths), (Ok(()), vec![6, 3, 4]));
    assert_eq!(&text, b"\xffbc---");
    // Nothing to edit, and a part that is not there.
    let edited = fortran::edit(|text, step| if step < 3 { assert!(text.is_empty()) }, &mut [], 1);
    assert!(matches!(edited, Err(Error::Bounds { .. })), "{edited:?}");
    let edited = fortran::edit(|_, _| (), &mut text, 0);
    assert!(matches!(edited, Err(Error::Bounds { .. })), "{edited:?}");
    // A panic goes through Fortran, and what was assigned before remains.
    let mut text = *b"abcdef";
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = fortran::edit(
            |text, step| {
                assert!(step < 2, "enough");
                text[0] = b'X';
            },
            &mut text,
            2,
        );
    }));
    assert!(panicked.is_err());
    assert_eq!(&text, b"Xbcdef");
}

fn main() {
    arrays();
    lengths();
    functions();
    closures();
    let blanks = [1, 4, 5, 6].map(|i| fortran::shortc(i).unwrap());
    assert_eq!(blanks, [false, false, true, true]);
    assert!(fortran::shortc(7).is_err());
    println!("fine");
}
