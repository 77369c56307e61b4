//! Forces between atoms. The physics is in `fortran/morse.ff`; Farfel derives the force from the
//! energy.

mod fortran {
    farfel_runtime::include_bindings!();
}

/// The Morse potential of a pair of atoms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Morse {
    /// Energy needed to separate the pair.
    pub depth: f64,
    /// Steepness, as an inverse distance.
    pub steepness: f64,
    /// Equilibrium distance.
    pub rest: f64,
}

impl Morse {
    /// Energies and forces at `distances`. A positive force drives the pair apart.
    ///
    /// # Errors
    ///
    /// If there are more distances than a Fortran INTEGER can count.
    pub fn evaluate(
        &self,
        distances: &[f64],
    ) -> Result<(Vec<f64>, Vec<f64>), farfel_runtime::Error> {
        let pairs = fortran::morse(self.depth, self.steepness, self.rest, distances)?;
        Ok((pairs.e, pairs.f))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forces_are_the_negative_slopes_of_the_energies() {
        let pair = Morse {
            depth: 4.7,
            steepness: 1.9,
            rest: 0.74,
        };
        let distances = [0.5, 0.74, 1.0, 2.5];
        let (energies, forces) = pair.evaluate(&distances).unwrap();
        for ((r, energy), force) in distances.iter().zip(energies).zip(forces) {
            let decay = (-pair.steepness * (r - pair.rest)).exp();
            let by_hand = -2.0 * pair.depth * (1.0 - decay) * decay * pair.steepness;
            assert!((energy - pair.depth * (1.0 - decay).powi(2)).abs() < 1e-12);
            assert!(
                (force - by_hand).abs() < 1e-12,
                "at {r}: {force}, not {by_hand}"
            );
        }
    }
}
