//! Judges whether a derivative is that of a function, from the function's values around a point.

/// The values of a function along a line, and the derivative that is claimed there.
#[derive(Debug, Clone, Default)]
pub(super) struct Test {
    /// The number of the dependent variable, or of the set of cotangents.
    pub projection: usize,
    /// The number of the direction.
    pub direction: usize,
    /// The derivative computed by the generated code.
    pub claimed: f64,
    /// The sum of the magnitudes of the terms that add up to the claimed derivative.
    pub scale: f64,
    /// For a reverse block, the derivative computed by the tangent.
    pub exact: Option<f64>,
    /// The value at the point.
    pub center: f64,
    /// The steps, each half or a quarter of the one before, with the values on both sides.
    pub around: Vec<CentralDifference>,
}

/// Values on both sides of a point.
#[derive(Debug, Clone, Copy)]
pub(super) struct CentralDifference {
    pub step: f64,
    pub plus: f64,
    pub minus: f64,
}

/// The finding about a derivative at a point along a direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Finding {
    /// It is right, as far as finite differences can tell.
    Right {
        /// The error relative to the derivative.
        error: f64,
    },
    /// It is wrong.
    Wrong { differences: f64, error: f64 },
    /// Tangent and adjoint do not belong to the same function.
    Disagree { tangent: f64, error: f64 },
    /// The function has a kink, with these one-sided derivatives.
    Kink { left: f64, right: f64 },
    /// The function jumps.
    Jump,
    /// The function ends here: there are values on one side only. `right` says whether the derivative is the
    /// one-sided one.
    Edge { right: bool },
    /// Inconclusive, because the finite differences do not converge.
    Unclear,
    /// The function has no value here, or nowhere around.
    NoValue,
    /// The difference quotients grow without bounds.
    Vertical,
}

/// An estimate of a derivative, from one side or both, with its error bound.
#[derive(Debug, Clone, Copy)]
struct Estimate {
    value: f64,
    error: f64,
}

/// Judges a claimed derivative. `epsilon` is the relative rounding error.
pub(super) fn judge(test: &Test, epsilon: f64) -> Finding {
    let Test { center, around, .. } = test;
    let finite = |f: &dyn Fn(&CentralDifference) -> f64| {
        let good = around.iter().filter(|a| f(a).is_finite());
        good.count()
    };
    let few = around.len() / 2;
    let (plus, minus) = (finite(&|a| a.plus), finite(&|a| a.minus));
    if !center.is_finite() || (plus < few && minus < few) {
        return Finding::NoValue;
    }
    let noise = noise(test, epsilon);
    let side = |f: &dyn Fn(&CentralDifference) -> f64| -> Option<Estimate> {
        let values: Vec<(f64, f64)> = around.iter().map(|a| (a.step, f(a))).collect();
        limit(&values, 1, noise)
    };
    let right = side(&|a| (a.plus - center) / a.step);
    let left = side(&|a| (center - a.minus) / a.step);
    let floor = 3e3 * epsilon;
    let agrees = |e: &Estimate| {
        let scale = test.scale.max(e.value.abs());
        (test.claimed - e.value).abs() <= 20.0 * e.error + floor * scale
    };
    if plus < few || minus < few {
        let inside = if plus < few { left } else { right };
        let converges = |e: &Estimate| e.error <= 0.05 * e.value.abs().max(test.scale);
        let right = inside.is_some_and(|e| agrees(&e) && converges(&e));
        return Finding::Edge { right };
    }
    let values: Vec<(f64, f64)> = around
        .iter()
        .map(|a| (a.step, (a.plus - a.minus) / (2.0 * a.step)))
        .collect();
    let central = limit(&values, 2, noise);
    if jumps(test, noise) {
        return Finding::Jump;
    }
    // The function is smooth on both sides, but with different slopes.
    if let (Some(l), Some(r)) = (left, right) {
        let gap = (l.value - r.value).abs();
        let size = l.value.abs().max(r.value.abs()).max(test.scale);
        if gap > 20.0 * (l.error + r.error) + 1e-5 * size && l.error + r.error < 1e-2 * gap {
            return Finding::Kink {
                left: l.value,
                right: r.value,
            };
        }
    }
    if grows(around, *center) {
        return Finding::Vertical;
    }
    let Some(d) = central else {
        return Finding::Unclear;
    };
    if !test.claimed.is_finite() {
        return match d.error <= 0.05 * d.value.abs().max(test.scale) {
            true => Finding::Wrong {
                differences: d.value,
                error: f64::INFINITY,
            },
            false => Finding::Unclear,
        };
    }
    let widest = around.first().map_or(1.0, |a| a.step);
    let values = around.iter().flat_map(|a| [a.plus, a.minus]);
    let largest = values.filter(|v| v.is_finite());
    let largest = largest.fold(center.abs(), |l, v| l.max(v.abs()));
    let natural = largest / (16.0 * widest);
    let scale = test.scale.max(d.value.abs()).max(test.claimed.abs());
    let off = (test.claimed - d.value).abs();
    // Both are nothing but rounding errors.
    let nothing = scale <= 20.0 * d.error && d.error <= 1e-4 * natural.max(f64::MIN_POSITIVE);
    let error = match (nothing, scale > 0.0) {
        (false, true) => off / scale,
        _ => 0.0,
    };
    if agrees(&d) || nothing {
        if !nothing && d.error > 0.05 * scale {
            return Finding::Unclear;
        }
        return match test.exact {
            Some(tangent) => {
                let error = (test.claimed - tangent).abs() / test.scale.max(f64::MIN_POSITIVE);
                match error <= floor || test.claimed == tangent || nothing {
                    true => Finding::Right {
                        error: off_by(error, nothing),
                    },
                    false => Finding::Disagree { tangent, error },
                }
            }
            None => Finding::Right { error },
        };
    }
    match d.error <= 0.05 * scale {
        true => Finding::Wrong {
            differences: d.value,
            error,
        },
        false => Finding::Unclear,
    }
}

fn off_by(error: f64, nothing: bool) -> f64 {
    if nothing { 0.0 } else { error }
}

/// Estimates the error of the function's values.
fn noise(test: &Test, epsilon: f64) -> f64 {
    let Test { center, around, .. } = test;
    let rounding = 4.0 * epsilon * center.abs();
    // Close to the point the function is nearly linear, so curvature is noise.
    let bends = around.iter().rev().take(4).map(|a| {
        let bend = (a.plus + a.minus - 2.0 * center).abs();
        if bend.is_finite() { bend } else { 0.0 }
    });
    // If a value does not change over a step but does over larger ones, it is rounded to such steps.
    let slope = around
        .iter()
        .map(|a| ((a.plus - a.minus) / (2.0 * a.step)).abs())
        .find(|d| d.is_finite())
        .unwrap_or(0.0);
    let flat = around
        .iter()
        .filter(|a| a.plus == a.minus)
        .map(|a| 2.0 * a.step * slope);
    // The slope should be that a little further away, so deviations are noise.
    let mut slopes: Vec<f64> = around[around.len() / 3..around.len() * 2 / 3]
        .iter()
        .map(|a| (a.plus - a.minus) / (2.0 * a.step))
        .filter(|d| d.is_finite())
        .collect();
    slopes.sort_by(f64::total_cmp);
    let usual = slopes.get(slopes.len() / 2).copied();
    let strays = around.iter().rev().take(4).map(|a| {
        let stray = usual.map(|u| ((a.plus - a.minus) / 2.0 - a.step * u).abs());
        stray.filter(|s| s.is_finite()).unwrap_or(0.0)
    });
    bends.chain(flat).chain(strays).fold(rounding, f64::max)
}

/// Estimates the limit of differences for steps to zero by Richardson extrapolation: among all columns of the
/// table, it chooses the three consecutive values that differ least. The error expansion begins with the
/// power `order` of the step and continues with its multiples.
fn limit(values: &[(f64, f64)], order: i32, noise: f64) -> Option<Estimate> {
    let mut column: Vec<f64> = values.iter().map(|(_, d)| *d).collect();
    let mut best: Option<Estimate> = None;
    for power in 1..=4 {
        for (i, three) in column.windows(3).enumerate() {
            if three.iter().any(|d| !d.is_finite()) {
                continue;
            }
            let step = values[i + power + 1].0;
            let highest = three.iter().copied().fold(f64::MIN, f64::max);
            let lowest = three.iter().copied().fold(f64::MAX, f64::min);
            let error = highest - lowest + noise / step;
            if best.is_none_or(|b| error < b.error) {
                best = Some(Estimate {
                    value: three[1],
                    error,
                });
            }
        }
        let next: Vec<f64> = column
            .windows(2)
            .enumerate()
            .map(|(i, pair)| {
                let ratio = values[i].0 / values[i + 1].0;
                pair[1] + (pair[1] - pair[0]) / (ratio.powi(order * power as i32) - 1.0)
            })
            .collect();
        column = next;
    }
    best
}

/// Whether the function differs from its value at the point by about the same amount however close to the
/// point.
fn jumps(test: &Test, noise: f64) -> bool {
    let last: Vec<f64> = test
        .around
        .iter()
        .rev()
        .take(4)
        .map(|a| {
            (a.plus - test.center)
                .abs()
                .max((a.minus - test.center).abs())
        })
        .collect();
    let (Some(nearest), Some(far)) = (last.first(), last.last()) else {
        return false;
    };
    let rounding = 1e-6 * test.center.abs().max(1e-300);
    // What counts as noise elsewhere is the jump itself here.
    *nearest > rounding.max(noise * 0.1) && *nearest > 0.7 * far
}

/// Whether difference quotients grow without bounds as steps get smaller.
fn grows(around: &[CentralDifference], center: f64) -> bool {
    let slopes: Vec<f64> = around
        .iter()
        .map(|a| {
            let (plus, minus) = ((a.plus - center) / a.step, (center - a.minus) / a.step);
            plus.abs().max(minus.abs())
        })
        .collect();
    let ratio = match around {
        [a, b, ..] => a.step / b.step,
        _ => return false,
    };
    let all = slopes.windows(2).all(|w| w[1] > w[0] * ratio.powf(0.2));
    slopes.len() > 2 && all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(f: &dyn Fn(f64) -> f64, claimed: f64) -> Finding {
        of(f, claimed, f64::EPSILON)
    }

    fn of(f: &dyn Fn(f64) -> f64, claimed: f64, epsilon: f64) -> Finding {
        let around = (1..=20).map(|i| {
            let step = 0.5f64.powi(3 + i);
            CentralDifference {
                step,
                plus: f(step),
                minus: f(-step),
            }
        });
        let test = Test {
            claimed,
            scale: claimed.abs(),
            center: f(0.0),
            around: around.collect(),
            ..Test::default()
        };
        judge(&test, epsilon)
    }

    #[test]
    fn right_derivatives() {
        let cases: [(&dyn Fn(f64) -> f64, f64); 6] = [
            (&|t| (1.0 + t).sin(), 1f64.cos()),
            (&|t| (1.0 + t).powi(7), 7.0),
            (&|t| 1e8 + t, 1.0),
            (&|_| 3.0, 0.0),
            (&|t| (10.0 * t).exp(), 10.0),
            (&|t| t * t, 0.0),
        ];
        for (i, (f, claimed)) in cases.iter().enumerate() {
            let found = test(f, *claimed);
            assert!(
                matches!(found, Finding::Right { error } if error < 1e-6),
                "{i}: {found:?}"
            );
        }
    }

    #[test]
    fn wrong_derivatives_also_where_little_is_wrong() {
        for factor in [0.0, 0.5, 1.001, 1.0 + 1e-6, -1.0] {
            let found = test(&|t| (1.0 + t).sin(), factor * 1f64.cos());
            assert!(
                matches!(found, Finding::Wrong { differences, .. } if (differences - 1f64.cos()).abs() < 1e-8),
                "{factor}: {found:?}"
            );
        }
    }

    #[test]
    fn single_precision_is_not_called_wrong() {
        let f = |t: f64| f64::from(((1.0 + t) as f32).sin());
        let single = f64::from(f32::EPSILON);
        for epsilon in [single, f64::EPSILON] {
            let found = of(&f, 1f64.cos(), epsilon);
            assert!(!matches!(found, Finding::Wrong { .. }), "{found:?}");
        }
        let found = of(&f, 1.1 * 1f64.cos(), single);
        assert!(matches!(found, Finding::Wrong { .. }), "{found:?}");
    }

    #[test]
    fn points_without_a_derivative() {
        assert_eq!(
            test(&|t| t.abs(), 0.0),
            Finding::Kink {
                left: -1.0,
                right: 1.0
            }
        );
        let found = test(&|t: f64| if t > 0.0 { t } else { t.sin() * 2.0 }, 1.0);
        assert!(matches!(found, Finding::Kink { .. }), "{found:?}");
        assert_eq!(
            test(&|t: f64| t.sqrt(), 0.0),
            Finding::Edge { right: false }
        );
        assert_eq!(
            test(&|t: f64| if t < 0.0 { f64::NAN } else { 2.0 * t }, 2.0),
            Finding::Edge { right: true }
        );
        assert_eq!(
            test(&|t: f64| if t > 0.0 { 1.0 } else { 0.0 }, 0.0),
            Finding::Jump
        );
        assert_eq!(test(&|t: f64| t.cbrt(), 0.0), Finding::Vertical);
        assert_eq!(test(&|_| f64::NAN, 0.0), Finding::NoValue);
    }

    #[test]
    fn noise_makes_differences_unclear_not_derivatives_wrong() {
        // A solver that stops at 1e-4.
        let rough = |t: f64| {
            let wobble = (t * 1e9).sin() * 1e-4;
            1.0 + t + wobble
        };
        let found = test(&rough, 1.0);
        assert!(!matches!(found, Finding::Wrong { .. }), "{found:?}");
    }
}
