//! Existing Fortran with its state in COMMON, behind a stateless Rust type.

use std::sync::{Mutex, PoisonError};

mod fortran {
    farfel_runtime::include_bindings!();
}

/// COMMON /GAS/ is shared by the whole program: a thread must hold this lock from setting it until
/// it has the result.
static COMMON_GAS: Mutex<()> = Mutex::new(());

/// A gas, by its van der Waals constants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gas {
    /// Attraction between the molecules, in Pa m⁶/mol².
    pub attraction: f64,
    /// Volume of the molecules, in m³/mol.
    pub volume: f64,
}

/// Carbon dioxide.
pub const CARBON_DIOXIDE: Gas = Gas {
    attraction: 0.3640,
    volume: 4.267e-5,
};

impl Gas {
    /// Pressure in Pa of a mole in `volume` m³ at `temperature` K.
    pub fn pressure(&self, volume: f64, temperature: f64) -> f64 {
        let _alone = COMMON_GAS.lock().unwrap_or_else(PoisonError::into_inner);
        fortran::setgas(self.attraction, self.volume);
        fortran::press(volume, temperature)
    }
}

fn main() {
    println!("litres      bar");
    for litres in [1.0, 2.0, 5.0, 10.0, 25.0] {
        let bar = CARBON_DIOXIDE.pressure(litres * 1e-3, 300.0) / 1e5;
        println!("{litres:6.1} {bar:8.4}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDEAL: Gas = Gas {
        attraction: 0.0,
        volume: 0.0,
    };

    #[test]
    fn without_constants_it_is_the_ideal_gas() {
        let pressure = IDEAL.pressure(0.025, 300.0);
        assert!((pressure - 8.31446261815324 * 300.0 / 0.025).abs() < 1e-8);
    }

    #[test]
    fn threads_do_not_mix_their_gases() {
        let alone = CARBON_DIOXIDE.pressure(0.001, 300.0);
        std::thread::scope(|scope| {
            for gas in [IDEAL, CARBON_DIOXIDE, IDEAL, CARBON_DIOXIDE] {
                scope.spawn(move || {
                    for _ in 0..1000 {
                        let pressure = gas.pressure(0.001, 300.0);
                        assert_eq!(pressure == alone, gas == CARBON_DIOXIDE);
                    }
                });
            }
        });
    }
}
