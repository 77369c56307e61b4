//! What gfortran accepts, and flang does not.

use crate::calls::{fenced, wrong};
use crate::fortran::raw as f;

pub fn all() {
    let mut t = String::new();
    wrong("fmtint", || f::fmtint(&[0x2828_2828; 5], 1.0, &mut t));
    wrong("fmtint zero", || f::fmtint(&[0; 5], 1.0, &mut t));
    wrong("fmtint short", || f::fmtint(&[0x2828_2828; 3], 1.0, &mut t));
    fenced(0, 9, 8, |k| wrong("hours", || f::hours(k)));
}
