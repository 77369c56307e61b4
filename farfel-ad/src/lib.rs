//! Automatic differentiation of Fortran 77 programs.
