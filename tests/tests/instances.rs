//! Libraries with instances, which own COMMON and saved variables.

use crate::support::Project;

const SETTINGS: &str = "\
[package.metadata.farfel]
instance = \"Model\"
derive = { energy_gradient = { gradient = \"energy\", by = \"x\" } }
";

#[test]
fn instances_do_not_know_of_each_other() {
    let p = Project::new("instances", "instances");
    p.append("Cargo.toml", SETTINGS)
        .file("fortran/state.f", include_str!("../instances/state.f"))
        .file("src/main.rs", include_str!("../instances/main.rs"));
    let folder = tempfile::tempdir().unwrap();
    for profile in [&["run", "-q"][..], &["run", "-q", "--release"]] {
        let path = folder.path().to_str().unwrap();
        let ran = p.cargo(&[profile, &["--", path]].concat());
        assert!(
            ran.ok && ran.stdout.ends_with("fine\n"),
            "{}\n{}",
            ran.stdout,
            ran.stderr
        );
    }
    let bindings = p.bindings();
    // Subprograms without state are functions, and nothing takes a lock.
    assert!(bindings.contains("\npub fn twice("), "{bindings}");
    assert!(!bindings.contains("FARFEL_LOCK"), "{bindings}");
}

/// Items that cannot belong to an instance are reported, with the alternative.
#[test]
fn what_cannot_belong_to_an_instance() {
    let source = "\
      SUBROUTINE KEEPS(N, X)
      REAL, ALLOCATABLE :: W(:)
      SAVE W
      IF (.NOT. ALLOCATED(W)) ALLOCATE (W(N))
      W(1) = W(1) + X
      X = W(1)
      END
";
    let named = |p: &Project, settings: &str| {
        p.append(
            "Cargo.toml",
            &format!("[package.metadata.farfel]\n{settings}\n"),
        );
    };
    let p = Project::new("no_instances", "no_instances");
    named(&p, "instance = \"Model\"");
    p.file("fortran/a.f", source)
        .file("src/lib.rs", "farfel_runtime::include_bindings!();\n");
    let ran = p.cargo(&["build"]);
    let reason = "`instance = \"Model\"` cannot be, because of keeps: W is allocated, and kept between calls";
    assert!(!ran.ok && ran.stderr.contains(reason), "{}", ran.stderr);

    let p = Project::new("no_sizes", "no_sizes");
    named(&p, "instance = \"Model\"");
    let sizes = "\
      SUBROUTINE SIZED(X)
      COMMON /N/ N(2), M
      REAL W(M), V(N(2))
      W(1) = X
      V(1) = W(1)
      X = V(1)
      END
";
    p.file("fortran/a.f", sizes)
        .file("src/lib.rs", "farfel_runtime::include_bindings!();\n");
    let ran = p.cargo(&["build"]);
    assert!(!ran.ok, "{}", ran.stderr);
    let said = "the size of V depends on a variable in COMMON that is not an INTEGER, or an array";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);

    for (settings, reason) in [
        (
            "instance = \"my model\"",
            "`my model` is not the name of a type in Rust",
        ),
        (
            "instance = \"M\"\nsave-all = true",
            "cannot be with `save-all`",
        ),
    ] {
        let p = Project::new("no_such_instance", "no_such_instance");
        named(&p, settings);
        p.file("fortran/a.f", source)
            .file("src/lib.rs", "farfel_runtime::include_bindings!();\n");
        let ran = p.cargo(&["build"]);
        assert!(!ran.ok && ran.stderr.contains(reason), "{}", ran.stderr);
    }
}

/// Unchecked functions are unsafe methods; functions that call code without source take the lock, and COMMON
/// blocks that C uses are shared.
#[test]
fn unchecked_and_unknown() {
    let p = Project::new("unchecked_instances", "unchecked_instances");
    p.append(
        "Cargo.toml",
        "cc = '1'\n[package.metadata.farfel]\ninstance = \"Model\"\nunchecked = [\"raw\"]\n",
    );
    p.file(
        "fortran/a.f",
        "\
      SUBROUTINE RAW(I, X)
      COMMON /B/ A(10)
      A(I) = A(I) + X
      X = A(I)
      END
      SUBROUTINE NEW(X)
      COMMON /B/ A(10)
      A(1) = X
      END
      INTEGER FUNCTION COUNTC()
      COMMON /SHARED/ K
      CALL BUMP
      COUNTC = K
      END
",
    )
    .file(
        "fortran/c.c",
        "extern struct { int k; } shared_;\nvoid bump_(void) { shared_.k++; }\n",
    )
    .file(
        "src/main.rs",
        "mod fortran { farfel_runtime::include_bindings!(); }
fn main() {
    let (mut a, mut b) = (fortran::Model::new(), fortran::Model::new());
    let mut x = 1.0;
    a.new_(5.0);
    unsafe { a.raw(1, &mut x) };
    assert_eq!(x, 6.0);
    x = 1.0;
    unsafe { b.raw(1, &mut x) };
    assert_eq!(x, 1.0);
    assert_eq!(a.common_b().a[0], 6.0);
    // SAFETY: C keeps to its own variable.
    assert_eq!(unsafe { a.countc() }, 1);
    assert_eq!(unsafe { b.countc() }, 2);
    println!(\"fine\");
}
",
    );
    let ran = p.cargo(&["run", "-q"]);
    assert!(
        ran.ok && ran.stdout == "fine\n",
        "{}\n{}",
        ran.stdout,
        ran.stderr
    );
    let bindings = p.bindings();
    assert_eq!(
        bindings.matches("FARFEL_LOCK.lock").count(),
        1,
        "{bindings}"
    );
    assert!(!bindings.contains("common_shared"), "{bindings}");
}

/// A derivative has larger arrays than its original. They are not in static memory, which threads share, and
/// no lock is taken for them.
#[test]
fn derivatives_run_in_threads() {
    let p = Project::new("derivatives_in_threads", "derivatives_in_threads");
    p.append(
        "Cargo.toml",
        "[package.metadata.farfel]\nderive = { jac = { jacobian = \"model\", of = \"y\", by = \"x\" } }\n",
    );
    p.file(
        "fortran/a.f",
        "\
      SUBROUTINE MODEL(X, Y)
      DOUBLE PRECISION X(40), Y(40), W(3000)
      DO 5 I = 1, 3000
    5 W(I) = X(MOD(I,40)+1)*I
      DO 10 K = 1, 10
      DO 10 I = 2, 3000
   10 W(I) = W(I) + 0.5D0*SIN(W(I-1))
      DO 20 I = 1, 40
   20 Y(I) = W(70*I)
      END
",
    )
    .file(
        "src/main.rs",
        "mod fortran { farfel_runtime::include_bindings!(); }
fn one() -> Vec<f64> {
    let x: Vec<f64> = (0..40).map(|i| f64::from(i) * 0.01).collect();
    fortran::jac(&x).unwrap().y_by_x.into_vec()
}
fn main() {
    let right = one();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..20).for_each(|_| assert!(one() == right)));
        }
    });
    println!(\"fine\");
}
",
    );
    assert_eq!(p.run(), "fine\n");
    assert!(!p.bindings().contains("FARFEL_LOCK"));
}
