//! From Farfel to Fortran 77: lift, specialize, prune, outline, stage.
