//! Plans the steps that make a library or program, and runs them.
//!
//! | module | what |
//! |---|---|
//! | `groups` | which units are compiled together |
//! | `digests` | hashes of units |
//! | `interfaces` | what is known about derivatives before they are computed |
//! | `objects` | the object files: their inputs, and making those that are not cached |
//! | `object_store` | the objects of the last build |
//! | `messages` | diagnostics that are stored with objects |
//! | `recorder` | the timings of steps |
//! | `view` | the steps as a graph for people |
//!
//! No result depends on the order of the steps, on the time, or on the location of files: an object is a
//! function of its key.

mod digests;
pub(crate) mod groups;
pub(crate) mod interfaces;
pub(crate) mod messages;
pub(crate) mod object_store;
pub(crate) mod objects;
pub(crate) mod recorder;
pub(crate) mod view;
