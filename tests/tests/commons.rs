//! COMMON blocks that Rust reads and sets, without instances.

use crate::support::Project;

fn project(name: &str, settings: &str) -> Project {
    let p = Project::new(name, name);
    p.append(
        "Cargo.toml",
        &format!("[package.metadata.farfel]\nsignatures = 'fortran'\n{settings}\n"),
    );
    p.file(
        "src/main.rs",
        "farfel_runtime::include_bindings!();\nfn main() {}\n",
    );
    p
}

#[test]
fn common_blocks_are_copied_in_and_out() {
    let p = project("commons", "commons = ['params', '/LIMITS/', '//', 'many']");
    p.file("fortran/model.f", include_str!("../commons/model.f"))
        .file("fortran/params.inc", include_str!("../commons/params.inc"))
        .file("src/main.rs", include_str!("../commons/main.rs"));
    for profile in [&["run", "-q"][..], &["run", "-q", "--release"]] {
        let ran = p.cargo(profile);
        assert!(
            ran.ok && ran.stdout == "fine\n",
            "{}\n{}",
            ran.stdout,
            ran.stderr
        );
    }
    let bindings = p.bindings();
    for expected in [
        "/// Returns a copy of COMMON /PARAMS/, as DEFLTS divides it. Waits while another thread runs a function that shares it.\n",
        "        /// `CHARACTER*6 NAME`\n        pub name: [u8; 6],\n",
        "        /// `REAL GRID(2, 3)`\n        pub grid: [[f32; 2]; 3],\n",
    ] {
        assert!(bindings.contains(expected), "{expected}\n{bindings}");
    }
    // What Fortran never assigns would need no lock if Rust did not set it.
    assert!(
        bindings.contains("FARFEL_LOCK_4.lock_or_panic()"),
        "{bindings}"
    );
}

/// All that is wrong is reported at once, with the places.
#[test]
fn blocks_that_cannot_be_structs() {
    let p = project("no_commons", "commons = ['flow', 'gird', 'same']");
    let source = "      SUBROUTINE A(X)
      COMMON /FLOW/ U, V(3) /GRID/ N /SAME/ K, Y
      X = U + V(N) + K + Y
      END
      SUBROUTINE B(X)
      COMMON /FLOW/ UU, VV(2), I /SAME/ KK, YY
      X = UU + VV(1) + I + KK + YY
      END
";
    p.file("fortran/flow.f", source);
    let ran = p.cargo(&["build"]);
    for expected in [
        "setting `commons`: COMMON /FLOW/ cannot be a struct, as subprograms declare it in different ways: where A \
         (fortran/flow.f:1) has REAL V(3), B (fortran/flow.f:5) has REAL VV(2); declare it in the same way everywhere, \
         for example by INCLUDE",
        "setting `commons`: no subprogram of the library declares COMMON /GIRD/; did you mean `grid`?",
    ] {
        assert!(!ran.ok && ran.stderr.contains(expected), "{}", ran.stderr);
    }
    assert!(!ran.stderr.contains("SAME"), "{}", ran.stderr);

    let p = project(
        "commons_of_instances",
        "commons = ['flow']\ninstance = 'Model'",
    );
    p.file("fortran/flow.f", source);
    let ran = p.cargo(&["build"]);
    let expected = "setting `commons`: leave it out: with `instance = \"Model\"` all COMMON blocks are parts of its values";
    assert!(!ran.ok && ran.stderr.contains(expected), "{}", ran.stderr);
    // The struct would have other offsets than the block.
    let p = project(
        "commons_without_padding",
        "commons = ['flow']\nflags = ['-fno-align-commons']",
    );
    let ran = p.cargo(&["build"]);
    let expected = "setting `commons`: it cannot be with `-fno-align-commons`";
    assert!(!ran.ok && ran.stderr.contains(expected), "{}", ran.stderr);
}
