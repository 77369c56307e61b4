//! Derivatives: exports that the settings add, and AD blocks.

use crate::calls::{fenced, wrong};
use crate::fortran::raw as f;

const HUGE: i32 = i32::MAX;

/// Makes the calls.
pub fn all() {
    let x = [0.5; 4];
    fenced(0.0, 9.0, 4, |g| {
        wrong("cost_gradient", || f::cost_gradient(5, &x, &mut [0.0; 5]));
        wrong("cost_gradient short", || {
            f::cost_gradient(4, &x, &mut g[..3])
        });
        wrong("cost_gradient huge", || f::cost_gradient(HUGE, &x, g));
        wrong("cost_gradient empty", || f::cost_gradient(1, &[], g));
        wrong("cost_hessian", || f::cost_hessian(4, &x, g, &mut [0.0; 15]));
        wrong("cost_hessian wraps", || {
            f::cost_hessian(65_536, &[0.5; 65_536], &mut [0.0; 65_536], g)
        });
        wrong("cost_hessian huge", || {
            f::cost_hessian(HUGE, &x, g, &mut [0.0; 16])
        });
        wrong("cost_hvp", || f::cost_hvp(4, &x, &x[..3], g, &mut [0.0; 4]));
        wrong("cost_hvp product", || {
            f::cost_hvp(4, &x, &x, g, &mut [0.0; 2])
        });
        let wrong_idx = [1, 4, 5];
        let mut y = [0.0; 3];
        wrong("model_jvp", || {
            f::model_jvp(3, 4, &wrong_idx, &x, &mut y, &x, &mut g[..3])
        });
        wrong("model_jvp tangent", || {
            f::model_jvp(3, 4, &[1, 2, 3], &x, &mut y, &x[..3], &mut g[..3])
        });
        wrong("model_vjp", || {
            f::model_vjp(3, 4, &[0, 1, 2], &x, &mut y, &x[..3], g)
        });
        wrong("model_vjp lowest", || {
            f::model_vjp(3, 4, &[1, 2, i32::MIN], &x, &mut y, &x[..3], g)
        });
        wrong("model_vjp weights", || {
            f::model_vjp(3, 4, &[1, 2, 3], &x, &mut y, &x[..2], g)
        });
        wrong("model_jacobian", || {
            f::model_jacobian(3, 4, &wrong_idx, &x, &mut y, &mut [0.0; 12])
        });
        wrong("model_jacobian short", || {
            f::model_jacobian(3, 4, &[1; 3], &x, &mut y, &mut [0.0; 11])
        });
        wrong("model_jacobian rows", || {
            f::model_jacobian(5, 4, &[1; 5], &x, &mut [0.0; 5], &mut [0.0; 20])
        });
        wrong("model_rows", || {
            f::model_rows(3, 4, &[-1, 2, 3], &x, &mut y, &mut [0.0; 12])
        });
        wrong("model_rows rows", || {
            f::model_rows(5, 4, &[1; 5], &x, &mut [0.0; 5], &mut [0.0; 20])
        });
        wrong("march_jvp", || {
            f::march_jvp(5, 2, g, &[1.0; 5], &mut [0.0; 5])
        });
        wrong("march_vjp", || {
            f::march_vjp(4, 2, g, &[1.0; 4], &mut [0.0; 3])
        });
        wrong("march_vjp negative", || {
            f::march_vjp(4, -1, g, &[1.0; 3], &mut [0.0; 4])
        });
        wrong("branch_gradient", || {
            f::branch_gradient(4, &[1.0, 2.0, 3.0, 4.0], 1, g)
        });
        wrong("branch_gradient below", || {
            f::branch_gradient(4, &[1.0, -2.0, 3.0, 4.0], 9, g)
        });
        wrong("branch_gradient lowest", || {
            f::branch_gradient(2, &[-2.0; 2], i32::MIN, &mut g[..2])
        });
        wrong("blockf", || f::blockf(4, 5, &x, &mut [0.0; 5]));
        wrong("blockf short", || f::blockf(4, 4, &x, &mut g[..3]));
        wrong("blockf long", || f::blockf(5, 1, &x, g));
        wrong("blockr", || f::blockr(4, &x, &mut g[..3], &mut [0.0; 4]));
        wrong("blockr work", || f::blockr(4, &x, g, &mut [0.0; 3]));
        wrong("fillw", || f::fillw(5, &x, g));
    });
    directions();
    // What is right stays so.
    let mut g = [0.0; 2];
    assert_eq!(f::cost_gradient(2, &[0.0, 0.0], &mut g), Ok(1.0));
    assert_eq!(g, [-2.0, 0.0]);
}

/// Jacobians in directions that the caller gives.
fn directions() {
    let x = [1.0, 2.0, 3.0];
    let (col, row, group) = ([1, 2, 2], [1, 2, 3, 2], [1, 2, 2, 1]);
    fenced(0.0, 9.0, 4, |a| {
        let mut sparse = |name: &str, m, col: &[i32], row: &[i32], group: &[i32]| {
            wrong(name, || f::sparse(3, m, 4, col, row, group, &x, a));
        };
        sparse("sparse", 2, &[1, 2, 9], &row, &group);
        sparse("sparse lowest", 2, &[1, 2, i32::MIN], &row, &group);
        sparse("sparse row", 2, &col, &[1, 2, 30, 2], &group);
        sparse("sparse row below", 2, &col, &[1, 2, -300_000, 2], &group);
        sparse("sparse group", 2, &col, &row, &[1, 2, 3_000_000, 1]);
        sparse("sparse none", 0, &col, &row, &group);
        sparse("sparse negative", -5, &col, &row, &group);
        sparse("sparse huge", HUGE, &col, &row, &group);
        let (col, group) = ([1, 2, 3, 1], [1, 2, 2]);
        let mut rows = |name: &str, m, col: &[i32], row: &[i32], group: &[i32]| {
            wrong(name, || f::rowsof(3, m, 4, col, row, group, &x, a));
        };
        rows("rows", 2, &[1, 2, 9, 1], &row, &group);
        rows("rows below", 2, &[1, 2, -9_000_000, 1], &row, &group);
        rows("rows row", 2, &col, &[1, 2, 4, 2], &group);
        rows("rows group", 2, &col, &row, &[1, 2, 3_000_000]);
        rows("rows lowest", 2, &col, &row, &[1, 2, i32::MIN]);
        rows("rows negative", -2, &col, &row, &group);
        rows("rows huge", HUGE, &col, &row, &group);
    });
}
