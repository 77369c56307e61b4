//! Programs made of many files.
