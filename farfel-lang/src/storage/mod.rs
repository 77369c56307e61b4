pub mod constant;
mod unit;
mod value;

pub use constant::Constants;
pub use unit::{Area, Member, Spot, UnitStorage, common_blocks, members};
pub use value::Value;
