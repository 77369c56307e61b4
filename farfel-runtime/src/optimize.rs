//! Problems for the solvers of [argmin](::argmin), of functions from Fortran and their derivatives.
//!
//! ```ignore
//! use argmin::core::Executor;
//! use argmin::solver::linesearch::MoreThuenteLineSearch;
//! use argmin::solver::quasinewton::LBFGS;
//! use farfel_runtime::optimize::Cost;
//!
//! // derive = { cost_gradient = { gradient = "cost", by = "x" } }
//! let problem = Cost::new(fortran::cost)
//!     .with_gradient(|x| Ok(fortran::cost_gradient(x)?.x_gradient));
//! let solver = LBFGS::new(MoreThuenteLineSearch::new(), 7);
//! let result = Executor::new(problem, solver).configure(|s| s.param(x0)).run()?;
//! ```
//!
//! A solver that needs a derivative which the problem does not have does not compile. Parameters are `Vec<f64>`,
//! matrices `Vec<Vec<f64>>`: the types of the feature `vec` of argmin-math.

use crate::{Error, OwnedMatrix};
use ::argmin::core::{self, CostFunction, Gradient, Hessian, Jacobian, Operator};

/// A function of several numbers to be minimised, with the derivatives that a solver needs:
/// [`CostFunction`], and [`Gradient`] and [`Hessian`] if these are given.
#[derive(Debug, Clone, Copy)]
pub struct Cost<F, G = (), H = ()> {
    function: F,
    gradient: G,
    hessian: H,
}

impl<F> Cost<F>
where
    F: Fn(&[f64]) -> Result<f64, Error>,
{
    /// Creates a problem without derivatives.
    pub fn new(function: F) -> Self {
        Cost {
            function,
            gradient: (),
            hessian: (),
        }
    }
}

impl<F, G, H> Cost<F, G, H> {
    /// Adds the gradient: the derivative of the function with respect to each number.
    pub fn with_gradient<N>(self, gradient: N) -> Cost<F, N, H>
    where
        N: Fn(&[f64]) -> Result<Vec<f64>, Error>,
    {
        Cost {
            function: self.function,
            gradient,
            hessian: self.hessian,
        }
    }

    /// Adds the Hessian: the second derivatives, with a row and a column for each number.
    pub fn with_hessian<N>(self, hessian: N) -> Cost<F, G, N>
    where
        N: Fn(&[f64]) -> Result<OwnedMatrix<f64>, Error>,
    {
        Cost {
            function: self.function,
            gradient: self.gradient,
            hessian,
        }
    }
}

impl<F, G, H> CostFunction for Cost<F, G, H>
where
    F: Fn(&[f64]) -> Result<f64, Error>,
{
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, x: &Vec<f64>) -> Result<f64, core::Error> {
        Ok((self.function)(x)?)
    }
}

impl<F, G, H> Gradient for Cost<F, G, H>
where
    G: Fn(&[f64]) -> Result<Vec<f64>, Error>,
{
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, core::Error> {
        Ok((self.gradient)(x)?)
    }
}

impl<F, G, H> Hessian for Cost<F, G, H>
where
    H: Fn(&[f64]) -> Result<OwnedMatrix<f64>, Error>,
{
    type Param = Vec<f64>;
    type Hessian = Vec<Vec<f64>>;

    fn hessian(&self, x: &Vec<f64>) -> Result<Vec<Vec<f64>>, core::Error> {
        Ok(rows(&(self.hessian)(x)?))
    }
}

/// Several functions of several numbers, for solvers of equations and of least squares: an [`Operator`] whose
/// output are the values, and [`Jacobian`] if it is given.
#[derive(Debug, Clone, Copy)]
pub struct Residuals<F, J = ()> {
    function: F,
    jacobian: J,
}

impl<F> Residuals<F>
where
    F: Fn(&[f64]) -> Result<Vec<f64>, Error>,
{
    /// Creates a problem without derivatives.
    pub fn new(function: F) -> Self {
        Residuals {
            function,
            jacobian: (),
        }
    }

    /// Adds the Jacobian: a row for each value, a column for each number.
    pub fn with_jacobian<N>(self, jacobian: N) -> Residuals<F, N>
    where
        N: Fn(&[f64]) -> Result<OwnedMatrix<f64>, Error>,
    {
        Residuals {
            function: self.function,
            jacobian,
        }
    }
}

impl<F, J> Operator for Residuals<F, J>
where
    F: Fn(&[f64]) -> Result<Vec<f64>, Error>,
{
    type Param = Vec<f64>;
    type Output = Vec<f64>;

    fn apply(&self, x: &Vec<f64>) -> Result<Vec<f64>, core::Error> {
        Ok((self.function)(x)?)
    }
}

impl<F, J> Jacobian for Residuals<F, J>
where
    J: Fn(&[f64]) -> Result<OwnedMatrix<f64>, Error>,
{
    type Param = Vec<f64>;
    type Jacobian = Vec<Vec<f64>>;

    fn jacobian(&self, x: &Vec<f64>) -> Result<Vec<Vec<f64>>, core::Error> {
        Ok(rows(&(self.jacobian)(x)?))
    }
}

/// The rows of a matrix, which argmin's matrices consist of.
fn rows(matrix: &OwnedMatrix<f64>) -> Vec<Vec<f64>> {
    let row = |i| (0..matrix.columns()).map(|j| matrix[(i, j)]).collect();
    (0..matrix.rows()).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_are_passed_on() {
        let problem = Cost::new(|x| Ok(x[0] * x[0] * x[1]))
            .with_gradient(|x| Ok(vec![2.0 * x[0] * x[1], x[0] * x[0]]))
            .with_hessian(|x| {
                OwnedMatrix::new(vec![2.0 * x[1], 2.0 * x[0], 2.0 * x[0], 0.0], 2, 2)
            });
        let x = vec![3.0, 5.0];
        assert_eq!(problem.cost(&x).unwrap(), 45.0);
        assert_eq!(problem.gradient(&x).unwrap(), [30.0, 9.0]);
        assert_eq!(problem.hessian(&x).unwrap(), [[10.0, 6.0], [6.0, 0.0]]);
    }

    #[test]
    fn rows_of_jacobians_belong_to_values() {
        let problem = Residuals::new(|x| Ok(vec![x[0], x[0] * x[1], x[1]]))
            .with_jacobian(|x| OwnedMatrix::new(vec![1.0, x[1], 0.0, 0.0, x[0], 1.0], 3, 2));
        let x = vec![3.0, 5.0];
        assert_eq!(problem.apply(&x).unwrap(), [3.0, 15.0, 5.0]);
        let expected = [[1.0, 0.0], [5.0, 3.0], [0.0, 1.0]];
        assert_eq!(problem.jacobian(&x).unwrap(), expected);
    }

    #[test]
    fn errors_are_those_of_the_function() {
        let problem = Cost::new(|_| OwnedMatrix::new(vec![1.0], 2, 2).map(|m| m[(0, 0)]));
        let error = problem.cost(&vec![]).unwrap_err();
        assert!(error.downcast_ref::<Error>().is_some(), "{error}");
    }
}
