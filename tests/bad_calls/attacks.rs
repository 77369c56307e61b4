//! Old features, used in ways that nobody intends.

use crate::calls::{fenced, wrong};
use crate::fortran::raw as f;
use std::cell::Cell;

const HUGE: i32 = i32::MAX;
const LOWEST: i32 = i32::MIN;

pub fn all() {
    vectors();
    shapes();
    intrinsics();
    entries();
    storage();
    loops();
    overflow();
    texts();
    internal_files();
    labels();
    closures();
    files();
}

fn vectors() {
    fenced(1.0, 9.0, 4, |x| {
        assert_eq!(f::picked(3, &[1, 4, 1], 4, x), Ok(4.0));
        wrong("picked", || f::picked(3, &[1, 4, 5], 4, x));
        wrong("picked lowest", || f::picked(2, &[1, LOWEST], 4, x));
        wrong("picked nothing", || f::picked(0, &[], 4, x));
        wrong("picked short", || f::picked(3, &[1, 1], 4, x));
        f::spredd(0, &[], 4, x).unwrap();
        f::spredd(3, &[4, 1, 4], 4, x).unwrap();
        wrong("spredd", || f::spredd(2, &[1, 0], 4, x));
        wrong("spredd far", || f::spredd(2, &[1, HUGE], 4, x));
        wrong("spredd empty", || f::spredd(1, &[1], 0, &mut []));
        f::wideix(2, &[4, 1], 4, x).unwrap();
        wrong("wideix", || f::wideix(2, &[4, (1 << 61) + 1], 4, x));
        wrong("wideix all", || f::wideix(2, &[i64::MIN, i64::MAX], 4, x));
        wrong("chosen", || f::chosen(2, &[1, 5], 4, x, 2, &mut [0.0; 2]));
        wrong("chosen more", || {
            f::chosen(2, &[1, 4], 4, x, 3, &mut [0.0; 3])
        });
    });
    fenced(2, 9, 3, |k| {
        k.copy_from_slice(&[3, 1, 2]);
        wrong("selfix", || f::selfix(3, k));
        assert_eq!(k, [1_000_000; 3]);
        k.copy_from_slice(&[0, 1, 2]);
        wrong("selfix zero", || f::selfix(3, k));
    });
    fenced(1.0, 9.0, 12, |a| {
        let mut b = [0.0; 4];
        f::rows(2, &[4, 1], 4, a, &mut b).unwrap();
        wrong("rows", || f::rows(2, &[5, 1], 4, a, &mut b));
        wrong("rows short", || f::rows(2, &[4, 1], 6, a, &mut b));
        wrong("rows negative", || f::rows(2, &[-4, 1], 4, a, &mut b));
        f::crossd(2, &[1, 3], 3, a).unwrap();
        wrong("crossd", || f::crossd(2, &[1, 4], 3, a));
        wrong("crossd zero", || f::crossd(2, &[0, 3], 3, a));
    });
}

fn shapes() {
    let x = [1.0, 2.0, 3.0, 4.0];
    assert_eq!(f::folded(4, 2, &x), Ok(10.0));
    assert_eq!(f::folded(4, -2, &x), Ok(0.0));
    wrong("folded", || f::folded(4, 3, &x));
    wrong("folded huge", || f::folded(4, HUGE, &x));
    let mut y = [9.0; 6];
    f::packv(4, 6, &x, &mut y).unwrap();
    assert_eq!(y, [1.0, 2.0, 3.0, 4.0, 9.0, 9.0]);
    wrong("packv", || f::packv(4, 3, &x, &mut y));
    wrong("unpckd", || f::unpckd(4, 6, &x, &mut y));
    f::unpckd(4, 3, &x, &mut y).unwrap();
    let ones = vec![1.0; 300_000];
    assert_eq!(f::outerp(3, &ones, &ones), Ok(9.0));
    wrong("outerp", || f::outerp(300_000, &ones, &ones));
    assert_eq!(f::colsum(2, 2, 2, &x), Ok(9.0));
    wrong("colsum", || f::colsum(2, 2, 3, &x));
    wrong("colsum zero", || f::colsum(2, 2, 0, &x));
    assert_eq!(f::colsum(-2, 2, 1, &x), Ok(0.0));
    fenced(b'x', b'!', 8, |s| {
        f::fours(5, s).unwrap();
        wrong("fours", || f::fours(6, s));
        wrong("fours negative", || f::fours(-1, s));
        wrong("fours far", || f::fours(HUGE, s));
        wrong("fours lowest", || f::fours(LOWEST, s));
        wrong("fours short", || f::fours(1, &mut s[..3]));
        wrong("fours empty", || f::fours(1, &mut []));
    });
}

fn intrinsics() {
    let a = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    assert_eq!(f::sized(2, &a), Ok(3));
    wrong("sized", || f::sized(3, &a));
    wrong("sized lowest", || f::sized(LOWEST, &a));
    wrong("lower", || f::lower(0, &a));
    fenced(1.0f32, 9.0, 4, |a| {
        f::shifts(2, 2, a).unwrap();
        wrong("shifts", || f::shifts(2, 3, a));
        wrong("shifts zero", || f::shifts(2, 0, a));
    });
    assert_eq!(f::along(2, 1, &a[..4]), Ok(7.0));
    wrong("along", || f::along(2, 3, &a[..4]));
    wrong("along negative", || f::along(2, -1, &a[..4]));
    fenced(0, 9, 8, |k| {
        f::clock(8, k).unwrap();
        wrong("clock", || f::clock(7, k));
        wrong("clock negative", || f::clock(-1, k));
    });
    assert_eq!(f::series(3), Ok(6.0));
    assert_eq!(f::series(LOWEST), Ok(0.0));
    wrong("series", || f::series(HUGE));
    assert_eq!(f::copies("aZ", 3), Ok(2));
    wrong("copies", || f::copies("aZ".repeat(50_000), HUGE));
    wrong("copies negative", || f::copies("aZ", -1));
    wrong("copies of much", || f::copies("Z".repeat(100_000), HUGE));
    assert_eq!(f::copies("Z".repeat(100_000), 100), Ok(1));
    wrong("locate", || f::locate(3, &[1, 2, 3], &mut [0; 3]));
    wrong("packed", || {
        f::packed(4, 3, &[1.0, -1.0, 1.0, -1.0], &mut [0.0; 3])
    });
    wrong("fewer", || f::fewer(2, &[1.0, -1.0], &mut [0.0; 2]));
    let mut a = [0.0; 9];
    f::formed(4, 2, &[1.0; 4], &mut a).unwrap();
    wrong("formed", || f::formed(4, 3, &[1.0; 4], &mut a));
    assert_eq!(f::sqsum(2, &[1.0, 2.0]), Ok(5.0));
    fenced(b'x', b'!', 6, |s| {
        wrong("pieces", || f::pieces(4, s));
        wrong("pieces far", || f::pieces(9, s));
    });
}

fn entries() {
    fenced(1.0, 9.0, 3, |x| {
        f::door1(3, x).unwrap();
        wrong("door1", || f::door1(4, x));
        wrong("door1 zero", || f::door1(0, x));
        wrong("door2", || f::door2(4, x));
        wrong("door2 negative", || f::door2(-4, x));
        f::door3(2, 2, x, &[1.0; 2]).unwrap();
        wrong("door3", || f::door3(3, 4, x, &[1.0; 4]));
        wrong("door3 source", || f::door3(3, 2, x, &[1.0; 2]));
    });
}

fn storage() {
    f::wide(10, &mut 1.0).unwrap_err();
    wrong("wide", || f::wide(11, &mut 1.0));
    wrong("wide zero", || f::wide(0, &mut 1.0));
    wrong("wide source", || f::wide(7, &mut 1.0));
    wrong("narrow", || f::narrow(11, 1.0));
    wrong("narrow negative", || f::narrow(-1, 1.0));
    wrong("tied", || f::tied(0, &mut 1.0));
    wrong("tied far", || f::tied(17, &mut 1.0));
    wrong("tied lowest", || f::tied(LOWEST, &mut 1.0));
}

fn loops() {
    fenced(0.0, 9.0, 5, |x| {
        f::down(5, 1, -1, x).unwrap();
        wrong("down", || f::down(HUGE, LOWEST, -1, x));
        wrong("down up", || f::down(LOWEST, HUGE, 1, x));
        wrong("down all", || f::down(1, HUGE, 1, x));
        wrong("down wide", || f::down(5, LOWEST, LOWEST + 6, x));
        wrong("down zero", || f::down(1, 5, 0, x));
        // With flang, loops with trip counts that no INTEGER*8 holds do nothing.
        if cfg!(feature = "gnu") {
            wrong("down8", || f::down8(i64::MAX, i64::MIN, -1, x));
            wrong("down8 up", || f::down8(1, i64::MAX, i64::MAX / 2, x));
            wrong("down8 lowest", || f::down8(5, i64::MIN, i64::MIN, x));
        }
        f::down8(5, 1, i64::MIN, x).unwrap();
        wrong("fracdo", || f::fracdo(1.0, 6.5, 1.0, x));
        wrong("fracdo negative", || f::fracdo(3.0, -1e9, -1.0, x));
        wrong("fracdo huge", || f::fracdo(1e300, 1e301, 1e300, x));
        let _ = f::fracdo(f64::NAN, 5.0, 1.0, x);
        let _ = f::fracdo(1.0, f64::NAN, 1.0, x);
        let _ = f::fracdo(1.0, 1.0, f64::NAN, x);
        let _ = f::fracdo(1.0, 3.0, f64::INFINITY, x);
    });
}

fn overflow() {
    fenced(0.0, 9.0, 5, |x| {
        wrong("flows", || f::flows(1 << 16, 1 << 15, x));
        wrong("flows wraps", || f::flows(1 << 16, 1 << 16, x));
        wrong("flows more", || f::flows(HUGE, HUGE, x));
        wrong("flows less", || f::flows(LOWEST, 1, x));
        wrong("realix", || f::realix(6.0, x));
        wrong("realix nan", || f::realix(f64::NAN, x));
        wrong("realix huge", || f::realix(1e300, x));
        wrong("realix less", || f::realix(-1e300, x));
        wrong("realix infinite", || f::realix(f64::INFINITY, x));
        wrong("bitwis", || f::bitwis(31, 1, x));
        wrong("bitwis far", || f::bitwis(30, 31, x));
        wrong("bitwis lowest", || f::bitwis(LOWEST, LOWEST, x));
    });
}

fn texts() {
    fenced(b'x', b'!', 5, |s| {
        let mut t = *b"........";
        f::cutout(2, 3, s, &mut t).unwrap();
        wrong("cutout", || f::cutout(2, 6, s, &mut t));
        wrong("cutout zero", || f::cutout(0, 3, s, &mut t));
        wrong("cutout back", || f::cutout(6, 0, s, &mut t));
        wrong("cutout back far", || f::cutout(HUGE, 1, s, &mut t));
        wrong("cutout all", || f::cutout(LOWEST, HUGE, s, &mut t));
        f::cutout(2, 3, s, &mut []).unwrap();
        wrong("cutout nothing", || f::cutout(1, 1, &mut [], &mut t));
        wrong("inital", || f::inital(6, s, &mut 0));
        wrong("inital zero", || f::inital(0, s, &mut 0));
        wrong("inital value", || f::inital(1, s, &mut 0));
        wrong("inital nothing", || f::inital(1, &mut [], &mut 0));
    });
    let mut rows = vec!["abc".to_owned(); 4];
    f::table(4, 2, &mut rows).unwrap();
    wrong("table", || f::table(4, 3, &mut rows));
    wrong("table row", || f::table(5, 1, &mut rows));
    wrong("table before", || f::table(1, 0, &mut rows));
    // From a large number to a small one: nothing is assigned.
    f::table(1, HUGE, &mut rows).unwrap();
    assert_eq!(rows[0], "abc");
}

fn internal_files() {
    fenced(b'x', b'!', 17, |s| {
        wrong("totext", || f::totext(1, 1.0, s));
        wrong("totext empty", || f::totext(1, 1.0, &mut []));
    });
    let mut rows = vec!["abcd".to_owned(); 2];
    f::torows(2, &[1.0; 4], &mut rows).unwrap();
    wrong("torows", || f::torows(3, &[1.0; 4], &mut rows));
    wrong("torows short", || f::torows(2, &[1.0], &mut rows));
    fenced(0.0, 9.0, 4, |x| {
        f::frtext(4, "4*1.5", x).unwrap();
        wrong("frtext", || f::frtext(5, "5*1.5", x));
        wrong("frtext repeat", || f::frtext(5, "2147483647*1.5", x));
        wrong("frtext overflow", || f::frtext(4, "99999999999*1.5", x));
        wrong("frtext zero", || f::frtext(4, "0*1.5", x));
        wrong("frtext end", || f::frtext(4, "1.5", x));
        wrong("frtext empty", || f::frtext(1, "", x));
        wrong("frtext word", || f::frtext(1, "word", x));
        // What the library makes of these depends on its version.
        let _ = f::frtext(1, "\0", x);
        // flang's ends the process.
        if cfg!(feature = "gnu") {
            let _ = f::frtext(1, "1".repeat(100_000), x);
        }
        wrong("frtext many", || f::frtext(HUGE, "2147483647*1", x));
    });
    let mut x = [0.0; 4];
    f::frindx("4 1.5", &mut x).unwrap();
    assert_eq!(x[3], 1.5);
    wrong("frindx", || f::frindx("5 1.5", &mut x));
    wrong("frindx zero", || f::frindx("0 1.5", &mut x));
    wrong("frindx overflow", || f::frindx("2147483648 1.5", &mut x));
    let mut v = 0.0;
    f::frgrp("&GROUP X(4)=2.5, K=4 /", &mut v).unwrap();
    assert_eq!(v, 2.5);
    for (name, text) in [
        ("outside", "&GROUP X(5)=1 /"),
        ("zero", "&GROUP X(0)=1 /"),
        ("negative", "&GROUP X(-99999)=1 /"),
        ("section", "&GROUP X(3:6)=4*1 /"),
        // flang's library leaves out what does not fit.
        #[cfg(feature = "gnu")]
        ("many", "&GROUP X=5*1 /"),
        ("step", "&GROUP X(1:4:0)=1 /"),
        ("dimensions", "&GROUP X(1, 2)=1 /"),
        ("subscript", "&GROUP K=5 /"),
        ("substring", "&GROUP T(2:9)='ABCDEFGH' /"),
        ("before", "&GROUP T(0:1)='AB' /"),
        ("unknown", "&GROUP Q=5 /"),
        ("open", "&GROUP K=1"),
    ] {
        wrong(&format!("frgrp {name}"), || f::frgrp(text, &mut v));
    }
    // Nothing is read.
    let _ = f::frgrp("&OTHER K=1 /", &mut v);
    let _ = f::frgrp("", &mut v);
}

fn labels() {
    let x = [1.0, 2.0, 3.0];
    let mut v = 0.0;
    f::statef(1, &x, &mut v).unwrap();
    wrong("statef", || f::statef(2, &x, &mut v));
    wrong("statef zero", || f::statef(0, &x, &mut v));
    wrong("statef empty", || f::statef(1, &[], &mut v));
    wrong("statef wraps", || f::statef(HUGE, &x, &mut v));
    // There is no such return: it is the usual one.
    for k in [0, 3, -1, HUGE, LOWEST] {
        assert_eq!(format!("{:?}", f::alter(k)), format!("{:?}", f::alter(0)));
    }
    fenced(0.0, 9.0, 3, |x| {
        let mut k = 1;
        f::switch(&mut k, x).unwrap();
        wrong("switch", || f::switch(&mut 2, x));
        wrong("switch last", || f::switch(&mut 3, x));
        for mut k in [0, 4, -1, HUGE, LOWEST] {
            f::switch(&mut k, x).unwrap();
            assert_eq!(k, -1);
        }
        f::unset(1, x).unwrap();
        wrong("unset", || f::unset(0, x));
    });
}

fn closures() {
    fenced(0.0, 9.0, 5, |x| {
        f::saved(|_| (), 4, x).unwrap();
        wrong("saved", || f::saved(|k: &mut i32| *k = 5, 4, x));
        wrong("saved zero", || f::saved(|k: &mut i32| *k = 0, 4, x));
        wrong("saved again", || {
            f::saved(|_| f::saved(|_| (), 5, &mut [0.0; 5]).unwrap(), 4, x)
        });
        let inner = Cell::new(0);
        wrong("saved inside", || {
            f::saved(
                |_| {
                    inner.set(inner.get() + 1);
                    let _ = f::saved(|k: &mut i32| *k = 9, 1, &mut [0.0; 1]);
                },
                4,
                x,
            )
        });
        assert_eq!(inner.get(), 1);
        wrong("saved panics", || {
            f::saved(|_| panic!("while it is saved"), 4, x)
        });
        f::saved(|_| (), 4, x).unwrap();
    });
    let x = [1.0, 2.0, 3.0];
    wrong("inside", || f::inside(|_| 4.0, 3, &x));
    wrong("inside nan", || f::inside(|_| f64::NAN, 3, &x));
    let calls = Cell::new(0);
    wrong("inside later", || {
        f::inside(
            |_| {
                calls.set(calls.get() + 1);
                if calls.get() == 2 {
                    panic!("the second time");
                }
                1.0
            },
            3,
            &x,
        )
    });
    wrong("inside inside", || {
        f::inside(|v| f::inside(|_| 9.0, 3, &x).unwrap_or(v * 100.0), 3, &x)
    });
}

fn files() {
    wrong("units", || f::units(-5));
    wrong("units lowest", || f::units(LOWEST));
    for (name, k, l) in [
        ("zero", 0, 8),
        ("negative", -1, 8),
        ("length", 1, 0),
        ("negative length", 1, -8),
        ("short", 1, 4),
        // A file that flang's library has written may have more records.
        #[cfg(feature = "gnu")]
        ("end", 1, 8),
    ] {
        wrong(&format!("direct {name}"), || f::direct(k, l));
        let _ = f::direct(LOWEST, 8);
    }
    wrong("openas", || f::openas("/nonexistent/file", "OLD"));
    wrong("openas status", || f::openas("a", "NONSENSE"));
    wrong("openas zero byte", || f::openas("a\0b/c", "OLD"));
    wrong("openas long", || f::openas("a/".repeat(100_000), "OLD"));
}
