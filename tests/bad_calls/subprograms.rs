//! Arguments that are wrong in every way that a type allows.

use crate::calls::{fenced, wrong};
use crate::fortran::raw as f;

const HUGE: i32 = i32::MAX;

/// Makes the calls.
pub fn all() {
    bounds();
    subscripts();
    work_arrays();
    loops();
    text();
    ends();
}

/// Declared bounds: too large, negative, changed, and products that 32 bits do not hold.
fn bounds() {
    fenced(0.0, 9.0, 4, |x| {
        wrong("grown", || f::grown(&mut 4, x));
        wrong("grown short", || f::grown(&mut 5, x));
        wrong("grown negative", || f::grown(&mut -200, x));
        wrong("grown overflow", || f::grown(&mut { HUGE }, x));
        wrong("wider", || f::wider(&mut 2, 2, x));
        wrong("wider zero", || f::wider(&mut 0, 1, x));
        wrong("relend", || f::relend(&mut 4, x));
        wrong("relend huge", || f::relend(&mut 1_500_000_000, x));
        wrong("corner short", || f::corner(3, 2, x));
        wrong("corner zero", || f::corner(0, 4, x));
        wrong("corner negative", || f::corner(-2, -2, x));
        wrong("corner wraps to 0", || f::corner(65_536, 65_536, x));
        wrong("corner wraps to 4", || f::corner(0x4000_0001, 4, x));
        wrong("corner huge", || f::corner(HUGE, HUGE, x));
        wrong("cube", || f::cube(2, x));
        wrong("cube wraps", || f::cube(2048, x));
        wrong("cube huge", || f::cube(HUGE, x));
        wrong("opened", || f::opened(2, x, 1, 3));
        wrong("opened far", || f::opened(65_536, x, 1, 65_537));
        wrong("opened wide", || f::opened(HUGE, x, 1, HUGE));
        wrong("opened below", || f::opened(4, x, 1, -HUGE));
        wrong("opened lowest", || {
            f::opened(i32::MIN, x, i32::MIN, i32::MIN)
        });
        wrong("shiftd", || f::shiftd(-2, 1, x, 2));
        wrong("shiftd below", || f::shiftd(-2, 1, x, -3));
        wrong("shiftd lowest", || f::shiftd(i32::MIN, HUGE, x, 0));
        wrong("shiftd end", || f::shiftd(HUGE - 3, HUGE, x, HUGE - 4));
        wrong("shiftd empty", || f::shiftd(5, 4, x, 4));
    });
    wrong("room2", || f::room2(2, 2, 1, 3));
    wrong("room2 negative", || f::room2(-1, -1, 1, 1));
    wrong("room2 huge", || f::room2(HUGE, HUGE, 1, 1));
    wrong("room2 wraps", || f::room2(65_536, 65_536, 65_536, 65_537));
}

/// Subscripts of other types, of expressions that overflow, and from arrays.
fn subscripts() {
    fenced(0.0, 9.0, 4, |x| {
        wrong("long", || f::long(1 << 33 | 1, x));
        wrong("long lowest", || f::long(i64::MIN, x));
        wrong("long highest", || f::long(i64::MAX, x));
        wrong("tiny", || f::tiny(127, x));
        wrong("tiny below", || f::tiny(-128, x));
        wrong("twiced", || f::twiced(0x4000_0000, x));
        wrong("twiced again", || f::twiced(3, x));
        wrong("summed", || f::summed(HUGE, HUGE, x));
        wrong("summed lowest", || f::summed(i32::MIN, i32::MIN, x));
        wrong("rowcol", || {
            f::rowcol(1, 65_537, 65_536, x).and_then(|()| f::rowcol(1, 3, 2, x))
        });
        wrong("rowcol lowest", || f::rowcol(1, i32::MIN, 1, x));
        wrong("floats", || f::floats(1e300, x));
        wrong("floats nan", || f::floats(f64::NAN, x));
        wrong("floats infinite", || f::floats(f64::NEG_INFINITY, x));
    });
    let mut idx = [2, 3, 1];
    wrong("chase", || f::chase(3, &mut idx));
    wrong("chase zero", || f::chase(1, &mut [0]));
    wrong("chase lowest", || f::chase(2, &mut [i32::MIN, 1]));
    wrong("chase empty", || f::chase(1, &mut []));
    wrong("scalar", || f::scalar(2, &mut 0.0));
    wrong("scalar huge", || f::scalar(HUGE, &mut 0.0));
    wrong("locals", || f::locals(5));
    wrong("shared", || f::shared(7));
    wrong("alike", || f::alike(9));
    wrong("alike below", || f::alike(-3));
    wrong("choose", || f::choose(3, &[1, 2, 3]));
    wrong("choose short", || f::choose(1, &[1, 2]));
    wrong("ways", || f::ways(3, &mut [0.0; 2]));
    wrong("ways short", || f::ways(1, &mut [0.0; 1]));
    wrong("jumps", || f::jumps(0, &mut 0));
    f::setl(12_345);
    wrong("jumps anywhere", || f::jumps(0, &mut 0));
    f::setl(-1);
    wrong("jumps back", || f::jumps(-1, &mut 0));
    f::jumps(1, &mut 0).unwrap();
}

/// Work arrays in pieces, and arrays that become others.
fn work_arrays() {
    fenced(0.0, 9.0, 8, |w| {
        wrong("carve", || f::carve(2, &[1, 5, 10], w, 8));
        wrong("carve short", || f::carve(2, &[1, 5], w, 8));
        wrong("carve below", || f::carve(1, &[0, 3], w, 8));
        wrong("carve far", || f::carve(1, &[i32::MIN, i32::MIN + 3], w, 8));
        wrong("carve overflow", || {
            f::carve(1, &[5, i32::MIN + 4], w, 8).and_then(|()| f::carve(1, &[9, 10], w, 8))
        });
        wrong("carve length", || f::carve(1, &[1, 2], w, 9));
        wrong("mixed", || f::mixed(3, w, 8));
        wrong("mixed more", || f::mixed(8, w, 8));
        wrong("mixed huge", || f::mixed(HUGE, w, 8));
        wrong("column", || f::column(3, 2, 6, w));
        wrong("column far", || f::column(1, HUGE, HUGE, w));
        wrong("column below", || f::column(2, 0, 4, w));
        wrong("freed", || f::freed(2));
    });
    wrong("opens", || f::opens(3, &mut [0.0; 2]));
    wrong("shuts", || {
        f::opens(2, &mut [0.0; 2]).and_then(|()| f::shuts(1, &mut [0.0; 1]))
    });
    wrong("shuts below", || f::shuts(0, &mut [0.0; 2]));
    wrong("shuts empty", || f::shuts(1, &mut []));
    wrong("firsts", || f::firsts(&[1.0; 3], 3));
    wrong("secnds", || f::secnds(&[1.0; 3], -2));
}

/// Loops whose ends lie beyond the array, in every form that is checked in advance.
fn loops() {
    fenced(0.0, 9.0, 8, |x| {
        wrong("nests", || f::nests(2, 2, 3, x));
        wrong("nests flat", || f::nests(9, 1, 1, x));
        wrong("nests wraps", || f::nests(65_536, 65_536, 65_536, x));
        wrong("stride", || f::stride(2, 11, 3, x));
        wrong("stride back", || f::stride(8, -1, -4, x));
        wrong("stride zero", || f::stride(1, 8, 0, x));
        wrong("stride far", || {
            f::stride(1, HUGE, HUGE, x).and_then(|()| f::stride(1, HUGE, HUGE - 1, x))
        });
        wrong("stride lowest", || {
            f::stride(8, i32::MIN, i32::MIN, x).and_then(|()| f::stride(0, 1, 1, x))
        });
        wrong("innern", || f::innern(5, x));
        wrong("innern huge", || f::innern(HUGE, x));
        wrong("whiles", || f::whiles(8, x));
        wrong("whiles far", || f::whiles(HUGE, x));
        wrong("tail", || f::tail(4, x));
        wrong("tail wraps", || {
            f::tail(HUGE - 2, x).and_then(|()| f::tail(HUGE - 5, x))
        });
        wrong("realdo", || f::realdo(1.0, 9.5, x));
        wrong("realdo below", || f::realdo(-1.5, 1.0, x));
        wrong("realdo huge", || f::realdo(1e30, 2e30, x));
        wrong("byref", || f::byref(3, x));
        wrong("stepup", || f::stepup(65_536, x));
        wrong("zero step", || f::stride(1, 0, 0, x));
    });
}

/// Text: too short, not ASCII, and substrings.
fn text() {
    wrong("stamp", || f::stamp(&mut [b' '; 3], 2, 4));
    wrong("stamp empty", || f::stamp(&mut [], 1, 1));
    wrong("stamp below", || f::stamp(&mut [b' '; 3], 0, 2));
    wrong("stamp huge", || f::stamp(&mut [b' '; 3], HUGE, HUGE));
    let mut s = "äöüß".to_owned();
    f::fixeds(&mut s, 2).unwrap();
    assert!(s.starts_with("\u{fffd}X"), "{s}");
    wrong("fixeds", || f::fixeds(&mut s, 9));
    wrong("fixeds long", || f::fixeds(&mut "ä".repeat(100), 0));
    wrong("fixeds empty", || f::fixeds(&mut String::new(), -1));
    wrong("firstc", || f::firstc(""));
    wrong("ascii", || f::ascii("", 1, 0));
    wrong("ascii outside", || f::ascii("ab", 4, 3));
    wrong("ascii below", || f::ascii("ab", i32::MIN, 2));
    wrong("many", || f::many("abc", 9, &[1.0; 81]));
    assert_eq!((f::firstc("é"), f::ascii("ab", 2, 2)), (Ok(0xc3), Ok(98)));
    wrong("code", || f::code(""));
    wrong("code blank", || f::code("   ").and_then(|_| f::code("")));
    let mut t = String::new();
    wrong("format", || f::format("(I5)", 1.0, &mut t));
    wrong("format none", || f::format("", 1.0, &mut t));
    wrong("format open", || f::format("((((F5.1", 1.0, &mut t));
    wrong("format letters", || f::format("(äöü)", 1.0, &mut t));
    wrong("format zero", || f::format("(\0)", 1.0, &mut t));
    wrong("format wide", || f::format("(F999999.2)", 1.0, &mut t));
    wrong("format far", || {
        f::format("(T2000000000,F5.1)", 1.0, &mut t)
    });
    wrong("format endless", || f::format("(999999999X)", 1.0, &mut t));
    wrong("format deep", || {
        f::format(&"(".repeat(100_000), 1.0, &mut t)
    });
    wrong("short", || f::short(2, &mut t));
    wrong("unit", || f::unit(-5));
    wrong("unit lowest", || f::unit(i32::MIN));
    wrong("rewnds", || f::rewnds(-7));
    wrong("record", || f::record(41, 0));
    wrong("record below", || f::record(41, i32::MIN));
    wrong("filed", || f::filed("/nowhere/ä\u{1f600}"));
    wrong("filed zero", || f::filed("/nowhere\0"));
    wrong("filed empty", || f::filed(""));
    wrong("filed long", || f::filed(&"x".repeat(100_000)));
    fenced(0.0, 9.0, 4, |x| {
        wrong("reads", || f::reads("1 2 3", 4, x));
        wrong("reads short", || f::reads("1 2 3 4 5", 5, x));
        wrong("reads letters", || f::reads("1 zwei 3 4", 4, x));
        wrong("reads nothing", || f::reads("", 4, x));
        wrong("reads counts", || f::reads("999999999999*1 2", 4, x));
        wrong("readk", || f::readk("5 1 2", 1, x));
        wrong("readk second", || f::readk("1 1 2", -3, x));
        wrong("readk huge", || f::readk("99999999999999999999 1 2", 1, x));
    });
}

/// What ends a Fortran program.
fn ends() {
    wrong("stops", || f::stops(2, &[1.0, -1.0]));
    wrong("stops short", || f::stops(3, &[1.0, 1.0]));
    wrong("divide", || f::divide(1, 0));
    assert_eq!(f::divide(i32::MIN, -1), Ok(i32::MIN));
    wrong("raised", || f::raised(0, -3));
    wrong("large", || f::large(1_000_001, 1));
    wrong("large element", || f::large(5, 1_000_001));
    wrong("autos", || f::autos(5, 6));
    wrong("autos empty", || f::autos(0, 1));
    wrong("autos negative", || f::autos(i32::MIN, 1));
}
