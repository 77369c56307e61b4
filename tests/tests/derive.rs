//! Derivatives of subprograms from the setting `derive`, called from Rust.

use crate::support::Project;
use std::path::Path;
use std::process::Command;

const SETTINGS: &str = "
[package.metadata.farfel]
exports = ['cost', 'scale']

[package.metadata.farfel.derive]
cost_gradient = { gradient = 'cost', by = 'x(n)' }
cost_hessian = { hessian = 'cost', by = 'x(n)' }
cost_hvp = { hvp = 'cost', by = 'x(n)' }
resid_jacobian = { jacobian = 'resid', of = ['f', 's'], by = ['x', 'p', 'c'] }
resid_rows = { jacobian = 'resid', of = ['f', 's'], by = ['x', 'p', 'c'], reverse = true }
resid_jvp = { jvp = 'resid', of = ['f', 's'], by = ['x', 'p', 'c'] }
resid_vjp = { vjp = 'resid', of = ['f', 's'], by = ['x', 'p', 'c'] }
sum_gradient = { gradient = 'resid', of = 's', by = 'p' }
scale_jvp = { jvp = 'scale', of = 'x', by = ['x', 'a'] }
scale_jacobian = { jacobian = 'scale', of = 'x', by = ['x', 'a'] }
scale_rows = { jacobian = 'scale', of = 'x', by = ['x', 'a'], reverse = true }
power_vjp = { vjp = 'power', by = ['z', 'r'] }
mean_gradient = { gradient = 'mean', by = ['y', 'w'] }
";

const SOURCE: &str = "\
C     Rosenbrock's function.
      DOUBLE PRECISION FUNCTION COST(N, X)
      INTEGER N
      DOUBLE PRECISION X(*)
      COST = 0
      DO I = 1, N-1
      COST = COST + 100*(X(I+1)-X(I)**2)**2 + (1-X(I))**2
      END DO
      END

C     F, and the sum of it. Bounds of all kinds.
      SUBROUTINE RESID(N, X, P, C, M, F, S)
      IMPLICIT REAL*8 (A-H,O-Z)
      PARAMETER (NP = 2)
      COMMON /SIZES/ WEIGHT(3), LOW
      DIMENSION X(-1:N-2), F(0:M-1), P(NP,0:NP)
      SAVE KOUNT
      DATA KOUNT /0/
      KOUNT = KOUNT + 1
      S = 0
      DO 10 I = 0, M-1
      A = P(1,0)*X(MOD(I,N)-1)**2
      F(I) = A + P(2,2)*SIN(X(-1)*C) + P(1,1)*I
   10 S = S + F(I)
      END

C     X is a result and an argument.
      SUBROUTINE SCALE(N, X, A)
      DIMENSION X(N)
      DO 10 I = 1, N
   10 X(I) = A*X(I)**2
      N = 0
      END

      COMPLEX FUNCTION POWER(Z, R, K)
      COMPLEX Z
      POWER = R*Z**K
      END

      FUNCTION MEAN(Y, W) RESULT(R)
      REAL R, Y(3), W, MEDIUM
      MEDIUM = (Y(1) + Y(2) + Y(3))/3
      R = W*MEDIUM**2
      END
";

const MAIN: &str = r#"
#![forbid(unsafe_code)]
mod bindings {
    farfel_runtime::include_bindings!();
}
use bindings::raw as fortran;
use farfel_runtime::Matrix;

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-6 * (1.0 + b.abs()), "{a} is not {b}");
}

fn main() {
    // Rosenbrock's function: gradient, Hessian and product against differences.
    let x = [0.3, -0.5, 0.9, 1.2];
    let v = [0.4, 1.0, -0.3, 0.2];
    let cost = |x: &[f64]| fortran::cost(4, x).unwrap();
    let gradient = |x: &[f64]| {
        let mut g = [0.0; 4];
        let y = fortran::cost_gradient(4, x, &mut g).unwrap();
        assert_eq!(y, cost(x));
        g
    };
    let (mut g, mut h) = ([0.0; 4], [0.0; 16]);
    assert_eq!(fortran::cost_hessian(4, &x, &mut g, &mut h).unwrap(), cost(&x));
    assert_eq!(g, gradient(&x));
    let mut hv = [0.0; 4];
    fortran::cost_hvp(4, &x, &v, &mut g, &mut hv).unwrap();
    for i in 0..4 {
        let step = 1e-6;
        let (mut up, mut down) = (x, x);
        up[i] += step;
        down[i] -= step;
        close(g[i], (cost(&up) - cost(&down)) / (2.0 * step));
        for j in 0..4 {
            close(h[j + 4 * i], (gradient(&up)[j] - gradient(&down)[j]) / (2.0 * step));
        }
        close(hv[i], (0..4).map(|j| h[i + 4 * j] * v[j]).sum());
    }
    // Lengths are checked as in any other function.
    assert!(fortran::cost_gradient(4, &x[..3], &mut g).is_err());

    // By hand: F(i) = p10*x(i mod 2)**2 + p22*sin(x0*c) + p11*i.
    let (n, m) = (2usize, 3usize);
    let (x, p, c) = ([0.7, -0.4], [1.5, 0.1, 0.2, 0.3, 0.4, 2.5], 1.1);
    let mut jac = vec![vec![0.0; n + 6 + 1]; m];
    for (i, row) in jac.iter_mut().enumerate() {
        row[i % n] += 2.0 * p[0] * x[i % n];
        row[0] += p[5] * c * f64::cos(x[0] * c);
        row[n] = x[i % n].powi(2);
        row[n + 2] = i as f64;
        row[n + 5] = (x[0] * c).sin();
        row[n + 6] = p[5] * x[0] * f64::cos(x[0] * c);
    }
    let of_sum: Vec<f64> = (0..n + 7).map(|j| jac.iter().map(|r| r[j]).sum()).collect();
    let (mut f, mut s) = ([0.0; 3], 0.0);
    let (mut fx, mut fp, mut fc) = ([0.0; 6], [0.0; 18], [0.0; 3]);
    let (mut sx, mut sp, mut sc) = ([0.0; 2], [0.0; 6], 0.0);
    fortran::resid_jacobian(
        2, &x, &p, c, 3, &mut f, &mut s,
        &mut fx, &mut fp, &mut fc, &mut sx, &mut sp, &mut sc,
    ).unwrap();
    close(s, f.iter().sum());
    for i in 0..m {
        for j in 0..n { close(fx[i + m * j], jac[i][j]) }
        for j in 0..6 { close(fp[i + m * j], jac[i][n + j]) }
        close(fc[i], jac[i][n + 6]);
    }
    for j in 0..n { close(sx[j], of_sum[j]) }
    for j in 0..6 { close(sp[j], of_sum[n + j]) }
    close(sc, of_sum[n + 6]);
    // What the short function returns has the dimensions of F and of P.
    let short = bindings::resid_jacobian(2, &x, Matrix::new(&p, 2, 3).unwrap(), c, 3).unwrap();
    assert_eq!((short.f_by_p.extents(), short.f_by_p.as_slice()), ([3, 2, 3], &fp[..]));

    // The same by its rows.
    let forward = (fx, fp, fc, sx, sp, sc);
    fortran::resid_rows(
        2, &x, &p, c, 3, &mut f, &mut s,
        &mut fx, &mut fp, &mut fc, &mut sx, &mut sp, &mut sc,
    ).unwrap();
    let columns = forward.0.iter().chain(&forward.1).chain(&forward.2).chain(&forward.3).chain(&forward.4);
    let rows = fx.iter().chain(&fp).chain(&fc).chain(&sx).chain(&sp);
    columns.zip(rows).for_each(|(a, b)| close(*a, *b));
    close(sc, forward.5);

    // Products with it.
    let (xt, pt, ct) = ([0.3, 0.8], [0.1, -0.2, 0.3, 0.7, -0.5, 0.6], 0.9);
    let along: Vec<f64> = xt.iter().chain(&pt).chain([&ct]).copied().collect();
    let (mut ft, mut st) = ([0.0; 3], 0.0);
    fortran::resid_jvp(2, &x, &p, c, 3, &mut f, &mut s, &xt, &pt, ct, &mut ft, &mut st).unwrap();
    for i in 0..m {
        close(ft[i], (0..n + 7).map(|j| jac[i][j] * along[j]).sum());
    }
    close(st, ft.iter().sum());
    let (fb, sb) = ([0.2, -0.6, 1.3], 0.4);
    let (mut xb, mut pb, mut cb) = ([9.0; 2], [9.0; 6], 9.0);
    fortran::resid_vjp(2, &x, &p, c, 3, &mut f, &mut s, &fb, sb, &mut xb, &mut pb, &mut cb).unwrap();
    let back = |j: usize| (0..m).map(|i| jac[i][j] * (fb[i] + sb)).sum::<f64>();
    for j in 0..n { close(xb[j], back(j)) }
    for j in 0..6 { close(pb[j], back(n + j)) }
    close(cb, back(n + 6));
    let mut g = [0.0; 6];
    fortran::sum_gradient(2, &x, &p, c, 3, &mut f, &mut s, &mut g).unwrap();
    for j in 0..6 { close(g[j], of_sum[n + j]) }

    // A result that is an argument; and N, which the bounds name, is assigned.
    let (x0, a) = ([1.5f32, -2.0], 3.0f32);
    let (mut x, mut n, mut xt) = (x0, 2, [0.0; 2]);
    fortran::scale_jvp(&mut n, &mut x, a, &[1.0, 10.0], 0.5, &mut xt).unwrap();
    for i in 0..2 {
        assert_eq!(x[i], a * x0[i] * x0[i]);
        close(xt[i].into(), (2.0 * a * x0[i] * [1.0, 10.0][i] + 0.5 * x0[i] * x0[i]).into());
    }
    let (mut x, mut n, mut by_x, mut by_a) = (x0, 2, [7.0; 4], [7.0; 2]);
    fortran::scale_jacobian(&mut n, &mut x, a, &mut by_x, &mut by_a).unwrap();
    assert_eq!(n, 0);
    assert_eq!(by_x, [2.0 * a * x0[0], 0.0, 0.0, 2.0 * a * x0[1]]);
    assert_eq!(by_a, [x0[0] * x0[0], x0[1] * x0[1]]);
    let (mut x, mut n, mut by_x, mut by_a) = (x0, 2, [7.0; 4], [7.0; 2]);
    fortran::scale_rows(&mut n, &mut x, a, &mut by_x, &mut by_a).unwrap();
    assert_eq!(n, 0);
    assert_eq!(by_x, [2.0 * a * x0[0], 0.0, 0.0, 2.0 * a * x0[1]]);
    assert_eq!(by_a, [x0[0] * x0[0], x0[1] * x0[1]]);

    // Complex numbers, and RESULT.
    let z = farfel_runtime::Complex { re: 0.5f32, im: 1.0 };
    let seed = farfel_runtime::Complex { re: 1.0, im: 0.0 };
    let (mut zb, mut rb) = (z, 0.0);
    let y = fortran::power_vjp(z, 2.0, 3, seed, &mut zb, &mut rb);
    // Of the real part: (x + iy)**3 = x**3 - 3*x*y**2 + ..., its derivative by x.
    let (re, im) = (0.5f64, 1.0f64);
    let cube = re.powi(3) - 3.0 * re * im * im;
    close(y.re.into(), 2.0 * cube);
    close(rb.into(), cube);
    close(zb.re.into(), 2.0 * (3.0 * re * re - 3.0 * im * im));
    let (mut yb, mut wb) = ([0.0; 3], 0.0);
    let r = fortran::mean_gradient(&[1.0, 2.0, 6.0], 0.5, &mut yb, &mut wb).unwrap();
    assert_eq!((r, wb, yb), (4.5, 9.0, [1.0, 1.0, 1.0]));
    println!("right");
}
"#;

#[test]
fn derivatives_are_functions() {
    let project = Project::new("derive", "derive");
    project
        .append("Cargo.toml", SETTINGS)
        .file("src/model.f", SOURCE)
        .file("src/main.rs", MAIN);
    assert_eq!(project.run(), "right\n");
}

/// The example in `docs/rust.md`.
#[test]
fn the_page_is_right() {
    let page = farfel_tests::repository().join("docs/rust.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once("## Derivatives as functions\n").unwrap();
    let block = |language: &str| {
        let (_, rest) = section.split_once(&format!("```{language}\n")).unwrap();
        rest.split("```").next().unwrap().to_owned()
    };
    let project = Project::new("derive-page", "derive-page");
    project
        .append("Cargo.toml", &block("toml"))
        .file(
            "src/model.f",
            "      DOUBLE PRECISION FUNCTION COST(N, X)
      DOUBLE PRECISION X(N)
      COST = SUM(X**3)
      IF (N .LT. 0) STOP 'negative'
      END
      SUBROUTINE MODEL(X, P, F)
      F = X*P
      END
",
        )
        .file(
            "src/main.rs",
            format!(
                "mod fortran {{
    farfel_runtime::include_bindings!();
}}
fn main() -> Result<(), Box<dyn std::error::Error>> {{
    let x = [1.0, 2.0];
    {}
    println!(\"{{:?}}\", fortran::cost_hvp(&x, &[1.0, 10.0])?.x_hvp);
    let model = fortran::model_jacobian(3.0, 5.0);
    println!(\"{{}} {{}} {{}}\", model.f, model.f_by_x, model.f_by_p);
    Ok(())
}}
",
                block("rust")
            ),
        );
    assert_eq!(project.run(), "9 [3.0, 12.0]\n[6.0, 120.0]\n15 5 3\n");
}

/// Without Rust: a program calls derivatives from the settings of its project.
#[test]
fn fortran_calls_them_too() {
    let dir = farfel_tests::sandbox();
    farfel_tests::write(
        dir.path(),
        "Cargo.toml",
        "[package]\nname = 'p'\nversion = '0.1.0'\n[package.metadata.farfel.derive]\n\
         slope = { gradient = 'f', by = 'x' }\nelsewhere = { gradient = 'g', by = 'x' }\n",
    );
    farfel_tests::write(
        dir.path(),
        "main.ff",
        "      PROGRAM MAIN
      Y = SLOPE(3.0, G)
      PRINT '(2F6.1)', Y, G
      END
      FUNCTION F(X)
      F = X**2
      END
",
    );
    let ran = farfel_tests::farfel(dir.path())
        .args(["run", "-q", "main.ff"])
        .assert();
    ran.success().stdout_eq("   9.0   6.0\n").stderr_eq("");
}

const OF_CLOSURES: &str = "
[dependencies.num-dual]
version = '0.15.1'
default-features = false

[package.metadata.farfel.derive]
area_gradient = { gradient = 'area', by = ['a', 'b'] }
area_jvp = { jvp = 'area', of = 'area', by = ['a', 'b'] }
area_hvp = { hvp = 'area', by = ['a', 'b'] }
steps_vjp = { vjp = 'steps', of = 'y', by = ['y', 'h'] }
steps_jvp = { jvp = 'steps', of = 'y', by = ['y', 'h'] }
newton_jvp = { jvp = 'newton', of = 'x', by = ['x', 'c'] }
newton_vjp = { vjp = 'newton', of = 'x', by = ['x', 'c'] }
twice_jvp = { jvp = 'twice', of = 'z', by = 'x' }
twice_vjp = { vjp = 'twice', of = 'z', by = 'x' }
area_hessian = { hessian = 'energy', by = 'x' }
flow_jacobian = { jacobian = 'flow', of = 'z', by = ['y', 'p'] }
flow_rows = { jacobian = 'flow', of = 'z', by = ['y', 'p'], reverse = true }
single_gradient = { gradient = 'single', by = 'x' }
two_gradient = { gradient = 'two', by = 'x' }
two_hvp = { hvp = 'two', by = 'x' }
simpson_jvp = { jvp = 'simpson', of = 'simpson', by = ['a', 'b'] }
simpson_gradient = { gradient = 'simpson', by = ['a', 'b'] }
roots_jacobian = { jacobian = 'roots', of = 'x', by = 'p' }
roots_rows = { jacobian = 'roots', of = 'x', by = 'p', reverse = true }
misfit_gradient = { gradient = 'misfit', by = 'p' }
misfit_hessian = { hessian = 'misfit', by = 'p' }
cplx_jvp = { jvp = 'cplx', of = 'w', by = 'z' }
cplx_vjp = { vjp = 'cplx', of = 'w', by = 'z' }
count_jvp = { jvp = 'count', of = 's', by = 'x' }
count_vjp = { vjp = 'count', of = 's', by = 'x' }
cols_vjp = { vjp = 'cols', of = 's', by = 'a' }
cols_jacobian = { jacobian = 'cols', of = 's', by = 'a' }
shared_gradient = { gradient = 'shared', by = 'x' }
fixed_gradient = { gradient = 'fixed', by = 'p' }
";

/// Subprograms that take closures: derivatives of all kinds, of subprograms with blocks in blocks and with
/// several directions, with the closures' derivatives by num-dual or by hand.
#[test]
fn subprograms_with_closures_have_derivatives() {
    let project = Project::new("derive-closures", "derive-closures");
    let manifest = project.directory.join("Cargo.toml");
    let manifest = std::fs::read_to_string(manifest).unwrap();
    let runtime = "farfel-runtime' }";
    assert!(manifest.contains(runtime));
    project
        .file(
            "Cargo.toml",
            manifest.replace(runtime, "farfel-runtime', features = ['num-dual'] }") + OF_CLOSURES,
        )
        .file("src/basic.ff", include_str!("../derive/basic.ff"))
        .file("src/solvers.ff", include_str!("../derive/solvers.ff"))
        .file("src/basic.rs", include_str!("../derive/basic.rs"))
        .file("src/solvers.rs", include_str!("../derive/solvers.rs"))
        .file(
            "src/main.rs",
            "mod basic;\nmod solvers;\nmod fortran {\n    farfel_runtime::include_bindings!();\n}\n\
             fn main() {\n    basic::check();\n    solvers::check();\n    println!(\"right\");\n}\n",
        );
    assert_eq!(project.run(), "right\n");
    let bindings = project.bindings();
    // The weights do not depend on the independents, so they have no derivative.
    let steps = bindings.split("pub fn steps_jvp(").nth(1).unwrap();
    let arguments = steps.split(") -> ").next().unwrap();
    assert!(arguments.contains("rhs_tangent"), "{steps}");
    assert!(bindings.contains("misfit_hessian"), "{bindings}");
    assert!(!bindings.contains("w_tangent: impl"), "{bindings}");
}

const BOTH_WAYS: &str = "
[package.metadata.farfel.derive]
flow_jvp = { jvp = 'flow', of = ['e', 'x'], by = ['e', 'x'] }
flow_vjp = { vjp = 'flow', of = ['e', 'x'], by = ['e', 'x'] }
flow_jacobian = { jacobian = 'flow', of = ['e', 'x'], by = ['e', 'x'] }
flow_rows = { jacobian = 'flow', of = ['e', 'x'], by = ['e', 'x'], reverse = true }
flow_gradient = { gradient = 'flow', of = 'e', by = ['e', 'x'] }
flow_hvp = { hvp = 'flow', of = 'e', by = ['e', 'x'] }
flow_hessian = { hessian = 'flow', of = 'e', by = 'x' }
steps_jvp = { jvp = 'steps', of = 'y', by = ['y', 'h'] }
steps_vjp = { vjp = 'steps', of = 'y', by = ['y', 'h'] }
scaled_gradient = { gradient = 'scaled', of = 's', by = 'a(n)' }
scaled_hvp = { hvp = 'scaled', of = 's', by = 'a(n)' }
power_jvp = { jvp = 'power', by = ['x', 'z'] }
escape_jvp = { jvp = 'escape', of = ['x', 'y'], by = 'x' }
escape_vjp = { vjp = 'escape', of = ['x', 'y'], by = 'x' }
escape_hessian = { hessian = 'escape', of = 'y', by = 'x' }
escape_rows = { jacobian = 'escape', of = ['x', 'y'], by = 'x', reverse = true }
leave_jvp = { jvp = 'leave', of = 'y', by = 'x' }
leave_vjp = { vjp = 'leave', of = 'y', by = 'x' }
drive_jvp = { jvp = 'drive', of = 'y', by = 'y' }
drive_vjp = { vjp = 'drive', of = 'y', by = 'y' }
turn_jvp = { jvp = 'turn', of = 'y', by = 'y' }
turn_vjp = { vjp = 'turn', of = 'y', by = 'y' }
mixed_gradient = { gradient = 'mixed', by = ['x', 'r'] }
mixed_jvp = { jvp = 'mixed', by = ['x', 'r'] }
mixed_hvp = { hvp = 'mixed', by = ['x', 'r'] }
direct_jvp = { jvp = 'direct', of = 'y', by = 'x' }
twice_jvp = { jvp = 'twice', of = 'y', by = 'a(n)' }
wave_gradient = { gradient = 'wave', by = 'x' }
wave_jvp = { jvp = 'wave', by = 'x' }
wave_hvp = { hvp = 'wave', by = 'x' }
wave_jacobian = { jacobian = 'wave', by = 'x' }

[package.metadata.farfel.signature]
drive = { closures = { f = ['in', 'in', 'out', 'in'] } }
turn = { closures = { f = ['in', 'in', 'out', 'in'] } }
";

/// Variables that are arguments and results, ENTRY points, alternate returns, and procedures that get others.
#[test]
fn subprograms_of_all_kinds_have_derivatives() {
    let project = with_num_dual("derive-kinds", BOTH_WAYS);
    project
        .file("src/kinds.f", include_str!("../derive/kinds.f"))
        .file("src/main.rs", include_str!("../derive/kinds.rs"));
    assert_eq!(project.run(), "right\n");
}

/// A project with num-dual, and these settings.
fn with_num_dual(name: &str, settings: &str) -> Project {
    let project = Project::new(name, name);
    let manifest = project.directory.join("Cargo.toml");
    let manifest = std::fs::read_to_string(manifest).unwrap();
    let runtime = "farfel-runtime' }";
    assert!(manifest.contains(runtime));
    let features = "farfel-runtime', features = ['num-dual'] }";
    let num_dual = "[dependencies.num-dual]\nversion = '0.15.1'\ndefault-features = false\n";
    let manifest = manifest.replace(runtime, features) + num_dual + settings;
    project.file("Cargo.toml", manifest);
    project
}

const FAILING: &str = "
[package.metadata.farfel]
exports = ['steps', 'square', 'inner', 'ending']

[package.metadata.farfel.derive]
steps_jvp = { jvp = 'steps', of = 'z', by = ['y', 'h'] }
steps_vjp = { vjp = 'steps', of = 'z', by = ['y', 'h'] }
steps_rows = { jacobian = 'steps', of = 'z', by = 'y', reverse = true }
square_gradient = { gradient = 'square', by = 'y' }
square_hvp = { hvp = 'square', by = 'y' }
square_hessian = { hessian = 'square', by = 'y' }
inner_jvp = { jvp = 'inner', of = 'z', by = 'x' }
inner_vjp = { vjp = 'inner', of = 'z', by = 'x' }
";

/// Panics of closures pass through blocks and derivatives, in both modes and nested, with tapes and locks.
#[test]
fn closures_may_panic_in_derivatives() {
    let project = with_num_dual("derive-panics", FAILING);
    project
        .file("fortran/panics.ff", include_str!("../derive/panics.ff"))
        .file("src/main.rs", include_str!("../derive/panics.rs"));
    assert_eq!(project.run(), "right\n");
    let valgrind = Command::new("valgrind").arg("--version").output().is_ok();
    let required = std::env::var_os("FARFEL_TEST_VALGRIND").is_some();
    assert!(valgrind || !required, "valgrind is required, and not there");
    if valgrind {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("target");
        // Closures get copies of DY, which has no value before.
        let ran = Command::new("valgrind")
            .args(["-q", "--error-exitcode=9", "--leak-check=no"])
            .arg("--undef-value-errors=no")
            .arg(target.join("debug/derive-panics"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{said}");
    }
}
