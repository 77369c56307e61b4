//! What is to be done for a library or program, and doing it.
//!
//! | module | what |
//! |---|---|
//! | `groups` | which units are compiled together |
//! | `digests` | units as hashes |
//! | `interfaces` | what is known of derivatives that are not made yet |
//! | `objects` | the object files: what each is made from, and making those that are not kept |
//! | `shelf` | the objects of the last build |
//! | `messages` | diagnostics that are kept with objects |
//! | `recorder` | what ran when |
//! | `view` | the steps as a graph for people |
//!
//! Nothing here depends on the order in which things are done, on the time, or on where
//! files are: an object is a function of its key.

mod digests;
pub(crate) mod groups;
pub(crate) mod interfaces;
pub(crate) mod messages;
pub(crate) mod objects;
pub(crate) mod recorder;
pub(crate) mod shelf;
pub(crate) mod view;
