//! Fortran functions inside Rust functions that are generic over the numbers of [num-dual](num_dual).
//!
//! Such a function computes derivatives by being called with dual numbers. Fortran code takes only `f64`; these functions call
//! it with the real parts of the arguments, together with a derivative that the setting `derive` or an AD
//! block provides, and continue the derivatives by the chain rule.
//!
//! ```ignore
//! use farfel_runtime::dual;
//! use num_dual::DualNum;
//!
//! // derive = { cost_gradient = { gradient = "cost", by = "x" } }
//! fn penalised<D: DualNum<Primitive = f64>>(x: &[D]) -> Result<D, farfel_runtime::Error> {
//!     let cost = dual::with_gradient(x, |x| {
//!         let found = fortran::cost_gradient(x)?;
//!         Ok((found.value, found.x_gradient))
//!     })?;
//!     Ok(cost.exp() + x[0].powi(2))
//! }
//! ```

use crate::{Complex, OwnedMatrix};
pub use num_dual::DualNum;
use num_dual::{Dual, DualNumFloat, DualStruct};

/// Calls a function that returns its value and its gradient, and returns the value with the derivatives of
/// the arguments continued through it.
///
/// `D` may be any number with first derivatives: `f64`, `Dual64`, `DualVec64`. Numbers with second
/// derivatives do not compile, since the gradient does not determine them: see [`with_hessian`].
///
/// # Errors
///
/// The error of the function.
///
/// # Panics
///
/// If the gradient has another number of elements than `x`.
pub fn with_gradient<D, E>(
    x: &[D],
    function: impl FnOnce(&[f64]) -> Result<(f64, Vec<f64>), E>,
) -> Result<D, E>
where
    D: DualNum<Primitive = f64>,
{
    const {
        assert!(
            D::NDERIV <= 1,
            "a gradient determines only first derivatives"
        )
    }
    let (value, gradient) = function(&real_parts(x))?;
    assert_eq!(gradient.len(), x.len(), "the elements of the gradient");
    Ok(combination(D::from(value), &gradient, &deviations(x)))
}

/// Like [`with_gradient`], for a function that returns several values and their Jacobian: a row for each
/// value, a column for each argument.
///
/// # Errors
///
/// The error of the function.
///
/// # Panics
///
/// If the Jacobian has another shape.
pub fn with_jacobian<D, E>(
    x: &[D],
    function: impl FnOnce(&[f64]) -> Result<(Vec<f64>, OwnedMatrix<f64>), E>,
) -> Result<Vec<D>, E>
where
    D: DualNum<Primitive = f64>,
{
    const {
        assert!(
            D::NDERIV <= 1,
            "a Jacobian determines only first derivatives"
        )
    }
    let (values, jacobian) = function(&real_parts(x))?;
    assert_eq!(
        (jacobian.rows(), jacobian.columns()),
        (values.len(), x.len()),
        "the rows and columns of the Jacobian"
    );
    let deviations = deviations(x);
    let row = |i: usize| -> Vec<f64> { (0..x.len()).map(|j| jacobian[(i, j)]).collect() };
    let values = values.into_iter().enumerate();
    Ok(values
        .map(|(i, value)| combination(D::from(value), &row(i), &deviations))
        .collect())
}

/// Like [`with_gradient`], for a function that also returns its Hessian, so that second derivatives can be
/// continued: `Dual2_64`, `HyperDual64`, duals of duals.
///
/// # Errors
///
/// The error of the function.
///
/// # Panics
///
/// If the gradient or the Hessian has another size than `x`.
pub fn with_hessian<D, E>(
    x: &[D],
    function: impl FnOnce(&[f64]) -> Result<(f64, Vec<f64>, OwnedMatrix<f64>), E>,
) -> Result<D, E>
where
    D: DualNum<Primitive = f64>,
{
    const {
        assert!(
            D::NDERIV <= 2,
            "a Hessian determines only second derivatives"
        )
    }
    let (value, gradient, hessian) = function(&real_parts(x))?;
    assert_eq!(gradient.len(), x.len(), "the elements of the gradient");
    assert_eq!(
        (hessian.rows(), hessian.columns()),
        (x.len(), x.len()),
        "the rows and columns of the Hessian"
    );
    let deviations = deviations(x);
    // Taylor's polynomial: the deviations have no real part, so higher powers vanish.
    let mut result = combination(D::from(value), &gradient, &deviations);
    for (j, deviation) in deviations.iter().enumerate() {
        let slope = combination(D::from(0.0), hessian.column(j), &deviations);
        result += slope * deviation * 0.5;
    }
    Ok(result)
}

/// A procedure for numbers of any kind, whose arguments with derivatives are one slice. For generated code,
/// which writes this for the traits that users implement.
pub trait Procedure<T: DualNumFloat> {
    /// Calls it. `values` has its arguments with derivatives one after the other, the value of a function
    /// last; `lengths` has their lengths.
    fn call<D: DualNum<Primitive = T> + Copy>(&mut self, values: &mut [D], lengths: &[usize]);

    /// Returns, for each of the arguments, whether the procedure reads it and whether it assigns it.
    fn usage(&self) -> Vec<(bool, bool)>;
}

/// The arguments with derivatives of one call of a closure. For generated code.
#[derive(Debug, Default)]
pub struct Values<T> {
    values: Vec<T>,
    lengths: Vec<usize>,
}

impl<T: DualNumFloat + DualNum<Primitive = T> + Copy> Values<T> {
    /// Creates a list without arguments.
    pub fn new() -> Values<T> {
        Values {
            values: Vec::new(),
            lengths: Vec::new(),
        }
    }

    /// Adds an argument.
    pub fn push<S: Convert<T>>(&mut self, argument: &[S]) {
        for x in argument {
            x.widen(&mut self.values);
        }
        self.lengths.push(argument.len() * S::PARTS);
    }

    /// Calls a procedure with the arguments.
    ///
    /// # Panics
    ///
    /// If an array and its derivative have different lengths.
    pub fn call(&mut self, procedure: &mut impl Procedure<T>) {
        procedure.call(&mut self.values, &self.lengths);
    }

    /// Copies an argument to a place of the same length.
    pub fn take<S: Convert<T>>(&self, argument: usize, to: &mut [S]) {
        let start: usize = self.lengths[..argument].iter().sum();
        let values = &self.values[start..start + self.lengths[argument]];
        assert_eq!(
            to.len() * S::PARTS,
            values.len(),
            "the length of an argument"
        );
        for (to, parts) in to.iter_mut().zip(values.chunks(S::PARTS)) {
            *to = S::narrow(parts);
        }
    }
}

/// The numbers of an argument of a procedure that is written for the numbers `T`. If it takes REAL and DOUBLE
/// PRECISION arguments, `T` is `f64`. A COMPLEX number is two of them, and so is its derivative.
pub trait Convert<T>: Copy {
    /// The number of real numbers.
    const PARTS: usize;

    /// Adds the values that the procedure gets to a list.
    fn widen(self, to: &mut Vec<T>);

    /// Rounds the values that the procedure assigns.
    fn narrow(parts: &[T]) -> Self;
}

impl Convert<f64> for f64 {
    const PARTS: usize = 1;

    fn widen(self, to: &mut Vec<f64>) {
        to.push(self);
    }

    fn narrow(parts: &[f64]) -> f64 {
        parts[0]
    }
}

impl Convert<f32> for f32 {
    const PARTS: usize = 1;

    fn widen(self, to: &mut Vec<f32>) {
        to.push(self);
    }

    fn narrow(parts: &[f32]) -> f32 {
        parts[0]
    }
}

impl Convert<f64> for f32 {
    const PARTS: usize = 1;

    fn widen(self, to: &mut Vec<f64>) {
        to.push(self.into());
    }

    #[allow(clippy::cast_possible_truncation)] // as an assignment to a REAL
    fn narrow(parts: &[f64]) -> f32 {
        parts[0] as f32
    }
}

impl<T, S: Convert<T>> Convert<T> for Complex<S> {
    const PARTS: usize = 2 * S::PARTS;

    fn widen(self, to: &mut Vec<T>) {
        self.re.widen(to);
        self.im.widen(to);
    }

    fn narrow(parts: &[T]) -> Complex<S> {
        let (re, im) = parts.split_at(S::PARTS);
        Complex::new(S::narrow(re), S::narrow(im))
    }
}

/// Returns COMPLEX numbers from their real and imaginary parts. For generated code.
pub fn complex<D: Copy>(parts: &[D]) -> Vec<Complex<D>> {
    let pairs = parts.chunks(2);
    pairs.map(|p| Complex::new(p[0], p[1])).collect()
}

/// Copies the parts of COMPLEX numbers to a place of the same length. For generated code.
pub fn put<D: Copy>(numbers: &[Complex<D>], to: &mut [D]) {
    for (number, to) in numbers.iter().zip(to.chunks_mut(2)) {
        to.copy_from_slice(&[number.re, number.im]);
    }
}

/// The tangent of a procedure: each argument is followed by its tangent.
#[derive(Debug)]
pub struct Tangent<P>(pub P);

/// The adjoint of a procedure: each argument is followed by its cotangent.
#[derive(Debug)]
pub struct Adjoint<P>(pub P);

/// Returns the positions of the elements of the arguments of a procedure in the slice for its derivative, each
/// with that of its own derivative and the number of its argument.
fn pairs(lengths: &[usize]) -> Vec<(usize, usize, usize)> {
    let mut found = Vec::new();
    let mut start = 0;
    for (argument, pair) in lengths.chunks(2).enumerate() {
        let length = pair[0];
        assert_eq!(
            length, pair[1],
            "the lengths of an array and its derivative"
        );
        found.extend((start..start + length).map(|i| (i, i + length, argument)));
        start += 2 * length;
    }
    found
}

fn own_lengths(lengths: &[usize]) -> Vec<usize> {
    lengths.iter().copied().step_by(2).collect()
}

impl<T: DualNumFloat, P: Procedure<T>> Procedure<T> for Tangent<P> {
    fn call<D: DualNum<Primitive = T> + Copy>(&mut self, values: &mut [D], lengths: &[usize]) {
        let pairs = pairs(lengths);
        let duals = pairs
            .iter()
            .map(|(x, d, _)| Dual::new(values[*x], values[*d]));
        let mut duals: Vec<Dual<D>> = duals.collect();
        self.0.call(&mut duals, &own_lengths(lengths));
        for ((x, d, _), dual) in pairs.into_iter().zip(duals) {
            (values[x], values[d]) = (dual.re, dual.eps);
        }
    }

    fn usage(&self) -> Vec<(bool, bool)> {
        let own = self.0.usage().into_iter();
        own.flat_map(|usage| [usage, usage]).collect()
    }
}

impl<T: DualNumFloat, P: Procedure<T>> Procedure<T> for Adjoint<P> {
    fn call<D: DualNum<Primitive = T> + Copy>(&mut self, values: &mut [D], lengths: &[usize]) {
        let (pairs, usage, own) = (pairs(lengths), self.0.usage(), own_lengths(lengths));
        let mut found = Vec::new();
        // One column of the Jacobian for each element that the procedure reads.
        for (k, (_, at, argument)) in pairs.iter().enumerate() {
            let (reads, assigns) = usage[*argument];
            if !reads {
                continue;
            }
            let duals = pairs.iter().enumerate().map(|(i, (x, ..))| {
                let unit = if i == k { D::one() } else { D::zero() };
                Dual::new(values[*x], unit)
            });
            let mut duals: Vec<Dual<D>> = duals.collect();
            self.0.call(&mut duals, &own);
            let mut sum = if assigns { D::zero() } else { values[*at] };
            for ((_, d, argument), dual) in pairs.iter().zip(duals) {
                if usage[*argument].1 {
                    sum += dual.eps * values[*d];
                }
            }
            found.push((*at, sum));
        }
        for (_, d, argument) in &pairs {
            if usage[*argument].1 {
                values[*d] = D::zero();
            }
        }
        for (at, sum) in found {
            values[at] = sum;
        }
    }

    fn usage(&self) -> Vec<(bool, bool)> {
        let arguments = self.0.usage().len();
        (0..arguments)
            .flat_map(|_| [(true, false), (true, true)])
            .collect()
    }
}

fn real_parts<D: DualNum<Primitive = f64>>(x: &[D]) -> Vec<f64> {
    x.iter().map(DualStruct::re).collect()
}

/// Returns the arguments without their real parts.
fn deviations<D: DualNum<Primitive = f64>>(x: &[D]) -> Vec<D> {
    x.iter().map(|x| x.clone() - x.re()).collect()
}

fn combination<D: DualNum<Primitive = f64>>(start: D, factors: &[f64], of: &[D]) -> D {
    let terms = factors.iter().zip(of);
    terms.fold(start, |sum, (factor, x)| sum + x.clone() * *factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use num_dual::{Dual, Dual2_64, Dual64, HyperDual64};

    /// x0²·sin(x1), by hand.
    fn by_hand(x: &[f64]) -> (f64, Vec<f64>, OwnedMatrix<f64>) {
        let (s, c) = x[1].sin_cos();
        let hessian = vec![2.0 * s, 2.0 * x[0] * c, 2.0 * x[0] * c, -x[0] * x[0] * s];
        (
            x[0] * x[0] * s,
            vec![2.0 * x[0] * s, x[0] * x[0] * c],
            OwnedMatrix::new(hessian, 2, 2).unwrap(),
        )
    }

    fn exact<D: DualNum<Primitive = f64>>(x: &[D]) -> D {
        x[0].powi(2) * x[1].sin()
    }

    fn first<D: DualNum<Primitive = f64>>(x: &[D]) -> D {
        let known = |x: &[f64]| Ok::<_, Error>((by_hand(x).0, by_hand(x).1));
        with_gradient(x, known).unwrap()
    }

    fn second<D: DualNum<Primitive = f64>>(x: &[D]) -> D {
        with_hessian(x, |x| Ok::<_, Error>(by_hand(x))).unwrap()
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-14 * (1.0 + b.abs()), "{a} {b}");
    }

    #[test]
    fn first_derivatives_go_on() {
        let x = [Dual64::new(1.5, 0.3), Dual64::new(0.4, -2.0)];
        let (found, wanted) = (first(&x).exp(), exact(&x).exp());
        close(found.re, wanted.re);
        close(found.eps, wanted.eps);
        close(first(&[1.5, 0.4]), exact(&[1.5, 0.4]));
        let several = |x: &[f64]| {
            let jacobian = vec![x[1], 1.0, x[0], -1.0];
            let values = vec![x[0] * x[1], x[0] - x[1]];
            Ok::<_, Error>((values, OwnedMatrix::new(jacobian, 2, 2).unwrap()))
        };
        let found = with_jacobian(&x, several).unwrap();
        for (found, wanted) in found.iter().zip([x[0] * x[1], x[0] - x[1]]) {
            close(found.re, wanted.re);
            close(found.eps, wanted.eps);
        }
    }

    #[test]
    fn second_derivatives_go_on() {
        let x = [
            HyperDual64::new(1.5, 0.3, 1.0, 0.7),
            HyperDual64::new(0.4, -2.0, 0.5, 0.1),
        ];
        let (found, wanted) = (second(&x).sin(), exact(&x).sin());
        close(found.eps1, wanted.eps1);
        close(found.eps2, wanted.eps2);
        close(found.eps1eps2, wanted.eps1eps2);
        let t = Dual2_64::from_re(0.8).derivative();
        let (found, wanted) = (second(&[t, t * t]), exact(&[t, t * t]));
        close(found.v1, wanted.v1);
        close(found.v2, wanted.v2);
        let nested = |re: f64, eps: f64| Dual::new(Dual64::new(re, eps), Dual64::new(1.0, 0.5));
        let x = [nested(1.5, 0.3), nested(0.4, -2.0)];
        let (found, wanted) = (second(&x), exact(&x));
        close(found.eps.re, wanted.eps.re);
        close(found.eps.eps, wanted.eps.eps);
        close(second(&[1.5, 0.4]), exact(&[1.5, 0.4]));
    }

    /// y = x0·x1, x0 = sin(x0)·x1, with x0 read and assigned.
    struct Both;

    impl Procedure<f64> for Both {
        fn call<D: DualNum<Primitive = f64> + Copy>(&mut self, v: &mut [D], lengths: &[usize]) {
            assert_eq!(lengths, [1, 1, 1]);
            v[2] = v[0] * v[1];
            v[0] = v[0].sin() * v[1];
        }

        fn usage(&self) -> Vec<(bool, bool)> {
            vec![(true, true), (true, false), (false, true)]
        }
    }

    #[test]
    fn tangents_and_adjoints_of_any_order() {
        let (a, b) = (0.7, 1.3_f64);
        let (s, c) = (0.7_f64.sin(), 0.7_f64.cos());
        let mut v = [a, 0.5, b, -2.0, 9.0, 9.0];
        Tangent(Both).call(&mut v, &[1; 6]);
        close(v[0], s * b);
        close(v[1], c * b * 0.5 - 2.0 * s);
        close(v[4], a * b);
        close(v[5], 0.5 * b - 2.0 * a);
        let (xb, yb, start) = (0.3, -0.4, 10.0);
        let mut v = [a, xb, b, start, 9.0, yb];
        Adjoint(Both).call(&mut v, &[1; 6]);
        close(v[1], c * b * xb + b * yb);
        close(v[3], start + s * xb + a * yb);
        close(v[5], 0.0);
        // The tangent of the adjoint, in the direction of a, b and the cotangents.
        let d = [0.2, 0.6, -0.5, 0.8];
        let mut v = [a, d[0], xb, d[1], b, d[2], start, 0.0, 9.0, 0.0, yb, d[3]];
        Tangent(Adjoint(Both)).call(&mut v, &[1; 12]);
        close(
            v[3],
            -s * b * xb * d[0] + c * d[2] * xb + c * b * d[1] + d[2] * yb + b * d[3],
        );
        close(v[7], c * d[0] * xb + s * d[1] + d[0] * yb + a * d[3]);
        close(v[11], 0.0);
    }

    /// z = conj(z)·x, with z COMPLEX.
    struct Conjugate;

    impl Procedure<f64> for Conjugate {
        fn call<D: DualNum<Primitive = f64> + Copy>(&mut self, v: &mut [D], lengths: &[usize]) {
            let (z, x) = v.split_at_mut(lengths[0]);
            let mut numbers = complex(z);
            numbers.iter_mut().for_each(|z| *z = z.conj() * x[0]);
            put(&numbers, z);
        }

        fn usage(&self) -> Vec<(bool, bool)> {
            vec![(true, true), (true, false)]
        }
    }

    /// Cotangents of COMPLEX numbers are those of the real inner product.
    #[test]
    fn complex_numbers_have_two_parts() {
        let (z, d) = (Complex::new(1.0f32, -2.0), Complex::new(0.5f32, 0.25));
        let (x, e) = (3.0, -1.0);
        let of = |adjoint: bool| {
            let mut v = Values::new();
            v.push(&[z, z]);
            v.push(&[d, Complex::default()]);
            v.push(&[x]);
            v.push(&[e]);
            match adjoint {
                true => v.call(&mut Adjoint(Conjugate)),
                false => v.call(&mut Tangent(Conjugate)),
            }
            let (mut found, mut last) = ([z; 2], [0.0]);
            v.take(1, &mut found);
            v.take(3, &mut last);
            (found, last[0])
        };
        let (found, _) = of(false);
        assert_eq!(found[0], d.conj() * 3.0 - z.conj());
        assert_eq!(found[1], -z.conj());
        let (found, last) = of(true);
        assert_eq!(found[0], d.conj() * 3.0);
        assert_eq!(found[1], Complex::default());
        close(last, e + f64::from((z.conj() * d.conj()).re));
    }

    #[test]
    fn errors_are_passed_on() {
        let failed = with_gradient(&[1.0], |_| Err::<(f64, Vec<f64>), _>("failed"));
        assert_eq!(failed, Err("failed"));
        let short = std::panic::catch_unwind(|| {
            with_gradient(&[1.0, 2.0], |_| Ok::<_, Error>((0.0, vec![1.0])))
        });
        assert!(short.is_err());
    }
}
