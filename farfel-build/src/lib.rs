//! Build-script helper.

pub mod render;
