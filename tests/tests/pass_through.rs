//! Files that gfortran compiles as they are, because a setting names them or because they are modern Fortran.

use std::fs;
use std::path::Path;

use crate::support::Project;
use farfel_driver::timings::{StepOrigin, Timings};
use farfel_tests::{farfel, fixed, sandbox, write};

/// A program whose files are in an order in which they cannot be compiled: A uses GRID, whose submodule is
/// before it, and GRID uses KINDS. FORTRAN 77 calls modern Fortran, which calls back, and both use a COMMON
/// block and blank COMMON.
fn modern(dir: &Path) {
    write(
        dir,
        "src/main.f",
        fixed(
            "PROGRAM MAIN\nDOUBLE PRECISION X, W, V\nCOMMON /SHARED/ W\nCOMMON V\nW = 1\nV = 5\nX = 2\nCALL A(X)\n\
             PRINT '(3F8.1)', X, W, V\nEND\nSUBROUTINE OLD(X)\nDOUBLE PRECISION X\nX = X*10\nEND\n",
        ),
    );
    write(
        dir,
        "src/a.f90",
        "! module nobody, use nobody\nsubroutine a(x)\n  use GRID, only: cell, &\n    area\n  implicit none\n\
         \x20 double precision, intent(inout) :: x\n  double precision w, v\n  common /shared/ w\n  common v\n\
         \x20 type(cell) :: c\n  c%side = x\n  call old(c%side)\n  x = area(c)\n  w = w + 1\n  v = 7\n\
         \x20 print '(a)', 'use nothing'; call b\nend subroutine\n",
    );
    write(
        dir,
        "src/b_impl.f90",
        "submodule (grid) impl\ncontains\n  module procedure area\n    block\n      integer :: k\n      k = 2\n\
         \x20     a = c%side**k\n    end block\n  end procedure\nend submodule\n",
    );
    write(
        dir,
        "src/grid.f90",
        "module grid\n  use kinds\n  use, intrinsic :: iso_fortran_env\n  implicit none\n  type cell\n\
         \x20   real(dp) :: side\n    real(dp), allocatable :: points(:)\n  end type\n  interface\n\
         \x20   module function area(c) result(a)\n      type(cell), intent(in) :: c\n      real(dp) :: a\n\
         \x20   end function\n  end interface\nend module\n",
    );
    write(
        dir,
        "src/kinds.F90",
        "#include \"dp.h\"\nmodule kinds\n  implicit none\n  include 'more.inc'\n\
         \x20 integer, parameter :: dp = DPKIND\nend module\n",
    );
    write(dir, "src/dp.h", "#define DPKIND kind(1d0)\n");
    write(
        dir,
        "src/more.inc",
        "integer, parameter :: sp = kind(1.0)\n",
    );
    // Fixed form, passed through because it uses a module of another such file.
    write(
        dir,
        "src/z.f",
        fixed("SUBROUTINE B\nUSE KINDS, ONLY: SP\nREAL(SP) Y\nY = 1.5\nPRINT '(F4.1)', Y\nEND\n"),
    );
    manifest(dir, "");
}

fn manifest(dir: &Path, settings: &str) {
    let head = "[package]\nname = \"mixed\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    let settings = match settings {
        "" => String::new(),
        settings => format!("[package.metadata.farfel]\n{settings}\n"),
    };
    write(dir, "Cargo.toml", format!("{head}{settings}"));
}

/// Returns whether the command succeeded, its standard output, and its messages. Each project has its own
/// target directory: all have the same name, and tests that run at once would run each other's programs.
fn ran(dir: &Path, args: &[&str]) -> (bool, String, String) {
    let farfel = farfel(dir).env_remove("CARGO_TARGET_DIR");
    let ran = farfel.args(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (ran.status.success(), text(&ran.stdout), text(&ran.stderr))
}

#[track_caller]
fn refused(dir: &Path, args: &[&str], expected: &[&str]) {
    let (good, _, said) = ran(dir, args);
    assert!(!good, "{said}");
    for text in expected {
        assert!(said.contains(text), "{text} is not in:\n{said}");
    }
}

const PRINTED: &str = "use nothing\n 1.5\n   400.0     2.0     7.0\n";

#[test]
fn modern_fortran_is_compiled_in_the_order_of_its_modules() {
    let dir = sandbox();
    let dir = dir.path();
    modern(dir);
    let (good, printed, said) = ran(dir, &["run"]);
    assert!(good, "{said}");
    assert_eq!(printed, PRINTED);
    assert_eq!(
        said.matches("gfortran compiles as they are").count(),
        1,
        "{said}"
    );
    assert!(
        said.contains("5 files are modern Fortran")
            && said.contains("src/grid.f90 (line 1: module grid)")
            && said.contains("src/z.f (line 2: it uses the module kinds)"),
        "{said}"
    );
    // Files named by INCLUDE count, and so do those of the preprocessor.
    write(
        dir,
        "src/more.inc",
        "integer, parameter :: sp = kind(1.0), more = &\n 1\n",
    );
    assert_eq!(ran(dir, &["run", "-q"]).1, PRINTED);
    write(dir, "src/dp.h", "#define DPKIND nonsense\n");
    refused(dir, &["run", "-q"], &["src/kinds.F90:5", "nonsense"]);
}

#[test]
fn a_setting_names_such_files_without_a_note() {
    let dir = sandbox();
    let dir = dir.path();
    modern(dir);
    fs::create_dir(dir.join("modern")).unwrap();
    for name in [
        "a.f90",
        "b_impl.f90",
        "grid.f90",
        "kinds.F90",
        "dp.h",
        "more.inc",
    ] {
        fs::rename(dir.join("src").join(name), dir.join("modern").join(name)).unwrap();
    }
    manifest(dir, "pass-through = [\"modern\", \"src/z.f\"]");
    refused(
        dir,
        &["run"],
        &["pass-through", "modern is not among the sources"],
    );
    let sources = "sources = [\"src\", \"modern\"]\n";
    manifest(
        dir,
        &format!("{sources}pass-through = [\"modern\", \"src/z.f\"]"),
    );
    let (good, printed, said) = ran(dir, &["run"]);
    assert!(good, "{said}");
    assert_eq!(printed, PRINTED);
    assert!(!said.contains("modern Fortran"), "{said}");
    for args in [
        &["check"][..],
        &["fmt", "--check"],
        &["graph"],
        &["graph", "--plan"],
        &["expand"],
        &["storage"],
        &["intents"],
        &["doctor"],
    ] {
        let (good, _, said) = ran(dir, args);
        let only_layout = said.contains("not laid out") && !said.contains("modern/");
        assert!(good || only_layout, "{args:?}\n{said}");
        assert!(!said.contains("F0"), "{args:?}\n{said}");
    }
    manifest(
        dir,
        &format!("{sources}pass-through = [\"modern\", \"src/none.f\"]"),
    );
    refused(dir, &["run"], &["pass-through", "none.f does not exist"]);
}

#[test]
fn what_is_wrong_with_modules_is_shown_where_it_is() {
    let dir = sandbox();
    let dir = dir.path();
    let module = |name: &str, uses: &str| format!("module {name}\n{uses}\nend module\n");
    write(dir, "src/main.f90", "program p\n  use a\nend program\n");
    write(dir, "src/a.f90", module("a", "  use b"));
    write(dir, "src/b.f90", module("b", "  use c, only: x"));
    write(dir, "src/c.f90", module("c", "  use a"));
    manifest(dir, "");
    let circle = "src/a.f90 uses b, src/b.f90 uses c, src/c.f90 uses a";
    for command in ["check", "build"] {
        refused(
            dir,
            &[command],
            &["F0401", circle, "src/a.f90:2", "move what both need"],
        );
    }
    // Two files with the same module.
    write(dir, "src/c.f90", module("c", "  integer :: x"));
    write(dir, "src/d.f90", module("b", ""));
    refused(
        dir,
        &["check"],
        &["two files have a module b", "src/d.f90:1", "src/b.f90:1"],
    );
    // A module that no file defines.
    write(dir, "src/d.f90", module("d", "  use netcdf"));
    refused(
        dir,
        &["build"],
        &[
            "src/d.f90:2",
            "netcdf.mod",
            "no source of `mixed` has a module netcdf",
        ],
    );
    // And one without the requested name.
    write(dir, "src/d.f90", module("d", "  use c, only: y"));
    refused(dir, &["build"], &["src/d.f90:2", "'y'"]);
    // It includes files that do not exist or that it may not read.
    write(dir, "src/d.f90", module("d", "  include 'none.inc'"));
    refused(
        dir,
        &["check"],
        &["F0006", "src/d.f90:2", "cannot include `none.inc`"],
    );
    write(dir, "src/d.f90", module("d", "  include '/etc/passwd'"));
    refused(dir, &["build"], &["outside of the project"]);
}

/// Module files of other packages are found where `include` says.
#[test]
fn module_files_of_others() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "other/m.f90",
        "module m\n  integer, parameter :: n = 42\nend module\n",
    );
    let other = dir.join("other");
    let make = |text: &str| {
        write(dir, "other/m.f90", text);
        let compiled = std::process::Command::new("gfortran")
            .args(["-c", "m.f90"])
            .current_dir(&other)
            .status();
        assert!(compiled.unwrap().success());
    };
    make("module m\n  integer, parameter :: n = 42\nend module\n");
    write(
        dir,
        "src/main.f90",
        "program p\n  use m\n  print '(i0)', n\nend program\n",
    );
    manifest(dir, "include = [\"other\"]");
    assert_eq!(ran(dir, &["run", "-q"]).1, "42\n");
    make("module m\n  integer, parameter :: n = 43\nend module\n");
    assert_eq!(ran(dir, &["run", "-q"]).1, "43\n");
}

/// Errors in FORTRAN 77, in Farfel, and in free form that is not newer Fortran remain errors of Farfel.
#[test]
fn mistakes_stay_errors() {
    let dir = sandbox();
    let dir = dir.path();
    for (name, text, code) in [
        ("a.f", fixed("SUBROUTINE A\nTYPE T\nINTEGER I\nEND TYPE\nEND\n"), "F0008"),
        ("a.f", fixed("SUBROUTINE A\nX = (1\nEND\n"), "F0001"),
        ("a.ff", fixed("MODULE A\nEND\n"), "F0008"),
        ("a.ff", fixed("SUBROUTINE A\nUSE M\nEND\n"), "F0008"),
        ("a.f90", "subroutine a\n  x = (1\nend\n".to_owned(), "F0001"),
        ("a.f90", "subroutine a\n  aa bb\nend\n".to_owned(), "F0002"),
        ("a.f90", "subroutine a\n#if X\n  y = 1\n#endif\nend\n".to_owned(), "F0008"),
        (
            "a.f90",
            "module a\nend module\nsubroutine s(x)\n  adf(x)\n  y = x\n  end adf(x = tangent(y))\nend\n".to_owned(),
            "F0008",
        ),
    ] {
        write(dir, "m.f90", "module m\nend module\n");
        let file = write(dir, name, text);
        refused(dir, &["check", name, "m.f90"], &[code, name]);
        fs::remove_file(file).unwrap();
    }
    // gfortran handles newer statements outside of modules, and errors beside them.
    for (text, expected) in [
        (
            "subroutine a(x) bind(c)\n  use iso_c_binding\n  real(c_double) :: x\n  x = 1\nend\n",
            "",
        ),
        (
            "subroutine a\n  block\n  end block\n  error stop 'no'\nend\n",
            "",
        ),
        (
            "subroutine a\n  character(len=:), allocatable :: c\n  c = 'x'\nend\n",
            "",
        ),
        (
            "subroutine a\n  type t\n  end type\n  x = (1\nend\n",
            "a.f90:4",
        ),
    ] {
        write(dir, "a.f90", text);
        write(dir, "p.f", fixed("END\n"));
        let (good, _, said) = ran(dir, &["build", "p.f", "a.f90", "-o", "p"]);
        assert_eq!(good, expected.is_empty(), "{text}\n{said}");
        assert!(said.contains(expected), "{text}\n{said}");
        assert!(
            !good || said.contains("1 file is modern Fortran"),
            "{text}\n{said}"
        );
    }
}

#[test]
fn derivatives_do_not_go_through_them() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "sub/grid.f90",
        "subroutine grid(x)\n  type t\n  end type\n  real :: x\n  x = x*2\nend\n",
    );
    let slope = "PROGRAM P\nREAL X, Y\nX = 3\nADF(X)\nY = X\nCALL GRID(Y)\nEND ADF(D = TANGENT(Y))\nPRINT *, D\nEND\n";
    write(dir, "slope.ff", fixed(slope));
    for command in ["check", "run"] {
        refused(
            dir,
            &[command, "slope.ff", "sub/grid.f90"],
            &[
                "F0304",
                "derivatives would go through GRID",
                "GRID is in sub/grid.f90, which gfortran compiles as it is",
            ],
        );
    }
    // With hand-written derivatives they work.
    let by_hand = "C\n!farfel: derivative(GRID(X), tangent = GRID_D, in = X, out = X)\n";
    let tangent = "SUBROUTINE GRID_D(X, XD)\nX = X*2\nXD = XD*2\nEND\n";
    write(
        dir,
        "slope.ff",
        format!("{by_hand}{}", fixed(&format!("{slope}{tangent}"))),
    );
    let (good, printed, said) = ran(dir, &["run", "-q", "slope.ff", "sub/grid.f90"]);
    assert!(good && printed.trim() == "2.00000000", "{printed}\n{said}");
}

/// Main programs in such files are programs of the project, and not part of a library.
#[test]
fn several_main_programs() {
    let dir = sandbox();
    let dir = dir.path();
    let main = |n: u32| {
        format!(
            "module params\n  integer, parameter :: n = {n}\nend module\nprogram p{n}\n  use params\n  use common\n\
             \x20 call show(n)\nend program\n"
        )
    };
    write(dir, "src/one.f90", main(1));
    write(dir, "src/two.f90", main(2));
    write(dir, "src/three.f", fixed("CALL OUT(3)\nEND\n"));
    write(
        dir,
        "src/out.f",
        fixed("SUBROUTINE OUT(N)\nPRINT '(I4)', N\nEND\n"),
    );
    write(
        dir,
        "src/common.f90",
        "module common\ncontains\n  subroutine show(n)\n    integer, intent(in) :: n\n    call out(n)\n\
         \x20 end subroutine\nend module\n",
    );
    manifest(dir, "");
    for (bin, printed) in [("one", "   1\n"), ("two", "   2\n"), ("three", "   3\n")] {
        let (good, out, said) = ran(dir, &["run", "--bin", bin]);
        assert!(good, "{said}");
        assert_eq!(out, printed);
    }
    let (good, _, said) = ran(dir, &["build"]);
    assert!(good, "{said}");
    assert_eq!(said.matches("src/common.f90 (line 1").count(), 3, "{said}");
}

const GRID: &str = "\
module grid
  use iso_c_binding
  implicit none
  type cell
    real(c_double) :: side = 2
  end type
contains
  real(c_double) function area(c)
    type(cell), intent(in) :: c
    area = c%side**2
  end function
end module
";

/// In a Rust project: called through `bind(C)`, and through FORTRAN 77, which is unsafe then; kept between
/// builds as far as the modules allow.
#[test]
fn rust_calls_them_and_what_has_not_changed_is_kept() {
    let p = Project::new("pass-through", "pass_through");
    p.file(
        "src/main.rs",
        "mod fortran { farfel_runtime::include_bindings!(); }\n\
         unsafe extern \"C\" { fn square_area(side: f64) -> f64; fn twice(x: &mut f64); }\n\
         fn main() {\n    // SAFETY: the argument is passed by value.\n    let area = unsafe { square_area(3.0) };\n\
         \x20   let mut x = 0.0;\n    // SAFETY: Fortran sets X and nothing else.\n\
         \x20   unsafe { fortran::old(&mut x); twice(&mut x) };\n    println!(\"{area} {x}\");\n}\n",
    );
    // Results of an earlier run in the target directory must not be used.
    let now = format!("! {}\n", std::process::id());
    let grid = format!("{GRID}{now}");
    p.file("fortran/grid.f90", &grid);
    p.file(
        "fortran/area.f90",
        now + "real(c_double) function square_area(side) bind(c)\n  use iso_c_binding\n  use grid\n\
         \x20 real(c_double), value :: side\n  square_area = area(cell(side))\nend function\n\
         subroutine fresh(x)\n  use grid\n  real(8), intent(out) :: x\n\
         \x20 common /named/ i\n  common j\n  x = area(cell())\n  i = i + 1\n  j = j + 1\nend subroutine\n\
         subroutine twice(x) bind(c)\n  use iso_c_binding\n  real(c_double) :: x\n  integer :: n\n  n = 2\n\
         \x20 call apply(times, x)\ncontains\n  subroutine times(x)\n    real(c_double) :: x\n    x = n*x\n  end subroutine\n\
         end subroutine\n\
         subroutine apply(f, x)\n  external f\n  real(8) :: x\n  call f(x)\nend subroutine\n",
    );
    let old = |last: &str| {
        let before =
            "DOUBLE PRECISION X\nCOMMON /NAMED/ I\nCOMMON J\nI = 7\nJ = 8\nCALL FRESH(X)\n";
        let common = "IF (I .NE. 8 .OR. J .NE. 9) X = -99\n";
        fixed(&format!("SUBROUTINE OLD(X)\n{before}{common}{last}\nEND\n"))
    };
    p.file("fortran/old.f", old("X = X + 0"));
    assert_eq!(p.run(), "9 8\n");
    let why = "FRESH is called, whose text is not there";
    assert!(p.bindings().contains(why), "{}", p.bindings());
    let built = || {
        let ran = p.cargo(&["build"]);
        assert!(ran.ok, "{}", ran.stderr);
        let timings = Timings::read(&p.out()).unwrap().unwrap();
        let steps = timings.steps.into_iter().filter(|s| s.kind == "compile");
        let mut names: Vec<_> = steps
            .filter(|s| s.from == StepOrigin::Ran)
            .map(|s| s.name)
            .collect();
        names.sort();
        names
    };
    // A change of a module's subprograms affects only its own file, a change of its interface others, too.
    p.file("fortran/grid.f90", grid.replace("**2", "**3"));
    assert_eq!(built(), ["fortran/grid.f90"]);
    assert_eq!(p.run(), "27 16\n");
    p.file("fortran/grid.f90", grid.replace("= 2", "= 5"));
    assert_eq!(built(), ["fortran/area.f90", "fortran/grid.f90"]);
    assert_eq!(p.run(), "9 50\n");
    // The cache has the earlier results, including module files.
    p.file("fortran/grid.f90", &grid);
    assert_eq!(built(), <[String; 0]>::default());
    assert_eq!(p.run(), "9 8\n");
    // Damaged stored files are not used.
    let modules = p.out().join("farfel/fortran-grid.f90.modules");
    fs::write(&modules, "x").unwrap();
    p.file("fortran/old.f", old("X = -X"));
    assert_eq!(p.run(), "9 -8\n");
    let warnings = p.cargo(&["check"]).stderr;
    assert!(
        warnings.contains("2 files are modern Fortran"),
        "{warnings}"
    );
    // TIMES uses a variable of TWICE, which requires code on the stack.
    let warnings = p.cargo(&["build"]).stderr;
    assert!(
        warnings.contains("internal procedures are passed as arguments in fortran/area.f90"),
        "{warnings}"
    );
}

/// Declarations in such a file, and gfortran's warnings about it, are treated as in other files.
#[test]
fn flags_and_warnings() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "src/main.f90",
        "program p\n  use m\n  call s(1)\nend program\n",
    );
    let module = "module m\ncontains\n  subroutine s(n)\n    integer :: n, unused\n#ifdef LOUD\n    print '(a)', 'loud'\n#endif\n\
                  \x20   print '(i0)', n + HUGE_ONE\n  end subroutine\nend module\n";
    write(dir, "src/deep/m.F90", module);
    manifest(
        dir,
        "defines = [\"HUGE_ONE=2\", \"LOUD\"]\n[package.metadata.farfel.file-flags]\n\"src/deep\" = [\"-Wunused-variable\"]",
    );
    let (good, printed, said) = ran(dir, &["run"]);
    assert!(good, "{said}");
    assert_eq!(printed, "loud\n3\n");
    assert!(
        said.contains("src/deep/m.F90:4") && said.contains("'unused'"),
        "{said}"
    );
    // The warning is repeated when nothing is compiled.
    assert!(ran(dir, &["run"]).2.contains("'unused'"));
    // What a flag defines is for the preprocessor, too.
    manifest(
        dir,
        "defines = [\"HUGE_ONE=2\"]\n[package.metadata.farfel.file-flags]\n\"src/deep\" = [\"-DLOUD\"]",
    );
    assert_eq!(ran(dir, &["run"]).1, "loud\n3\n");
    // Files that Farfel compiles cannot have separate flags.
    write(dir, "src/old.f", fixed("SUBROUTINE OLD\nEND\n"));
    manifest(
        dir,
        "defines = [\"HUGE_ONE=2\"]\n[package.metadata.farfel.file-flags]\n\"src/old.f\" = [\"-std=legacy\"]",
    );
    refused(
        dir,
        &["run"],
        &[
            "file-flags",
            "src/old.f has no object file of its own",
            "pass-through",
        ],
    );
    manifest(
        dir,
        "defines = [\"HUGE_ONE=2\"]\npass-through = [\"src/old.f\"]\n\
         [package.metadata.farfel.file-flags]\n\"src/old.f\" = [\"-fno-such-flag\"]",
    );
    refused(dir, &["run"], &["-fno-such-flag"]);
}

/// Packages that use a library get such files, too; their COMMON blocks would be separate ones.
#[test]
fn libraries_have_them() {
    let dir = sandbox();
    let dir = dir.path();
    let root = farfel_tests::repository().display();
    let package = |name: &str, dependencies: &str| {
        let head =
            format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
        let text = format!("{head}[dependencies]\n{dependencies}\n");
        write(dir, &format!("{name}/Cargo.toml"), text);
    };
    write(dir, "shapes/src/grid.f90", GRID);
    let fresh = "subroutine fresh(x)\n  use grid\n  real(8), intent(out) :: x\n  x = area(cell())\nend subroutine\n";
    write(dir, "shapes/src/fresh.f90", fresh);
    write(
        dir,
        "shapes/src/old.f",
        fixed("SUBROUTINE OLD(X)\nDOUBLE PRECISION X\nCALL FRESH(X)\nX = -X\nEND\n"),
    );
    let main = "DOUBLE PRECISION X\nCALL OLD(X)\nPRINT '(F4.1)', X\nEND\n";
    write(dir, "app/src/main.f", fixed(main));
    package("shapes", "");
    package("app", "shapes = { path = \"../shapes\" }");
    let app = dir.join("app");
    let (good, printed, said) = ran(&app, &["run"]);
    assert!(good, "{said}");
    assert_eq!(printed, "-4.0\n");
    assert!(!said.contains("modern Fortran"), "{said}");

    // The same with cargo.
    let build =
        format!("[build-dependencies]\nfarfel-build = {{ path = \"{root}/farfel-build\" }}\n");
    let runtime = format!("farfel-runtime = {{ path = \"{root}/farfel-runtime\" }}");
    let script = "fn main() { farfel_build::compile(); }\n";
    package("shapes", &format!("{runtime}\n{build}"));
    let manifest = fs::read_to_string(dir.join("shapes/Cargo.toml")).unwrap();
    let linked = manifest.replace("edition", "links = \"shapes-0-1\"\nedition");
    write(dir, "shapes/Cargo.toml", linked);
    write(dir, "shapes/build.rs", script);
    write(
        dir,
        "shapes/src/lib.rs",
        "farfel_runtime::include_bindings!();\n",
    );
    package(
        "calls",
        &format!("{runtime}\nshapes = {{ path = \"../shapes\" }}\n{build}"),
    );
    write(dir, "calls/build.rs", script);
    write(
        dir,
        "calls/src/main.rs",
        "mod fortran { farfel_runtime::include_bindings!(); }\nfn main() {\n    let mut x = 0.0;\n\
         \x20   // SAFETY: X is set.\n    unsafe { fortran::mine(&mut x) };\n    println!(\"{x}\");\n}\n",
    );
    let mine = "SUBROUTINE MINE(X)\nDOUBLE PRECISION X\nCALL OLD(X)\nX = 2*X\nEND\n";
    write(dir, "calls/fortran/mine.f", fixed(mine));
    let calls = dir.join("calls");
    let (good, printed, said) = ran(&calls, &["run"]);
    assert!(good, "{said}");
    assert_eq!(printed, "-8\n");
    // A change in the library is noticed.
    write(dir, "shapes/src/grid.f90", GRID.replace("**2", "**3"));
    assert_eq!(ran(&calls, &["run", "-q"]).1, "-16\n");

    let common = fresh.replace("  x =", "  common /c/ y\n  x =");
    write(dir, "shapes/src/fresh.f90", common);
    refused(
        &app,
        &["check"],
        &[
            "F0111",
            "shapes-0.1.0/src/fresh.f90:4",
            "COMMON block of a library",
        ],
    );
}

/// One name for two things is an error in such files, too.
#[test]
fn names_that_two_have() {
    let dir = sandbox();
    let dir = dir.path();
    let modern = "subroutine s\n  type t\n  end type\nend\n";
    write(dir, "a.f90", modern);
    write(dir, "b.f90", modern);
    write(dir, "p.f", fixed("CALL S\nEND\n"));
    refused(
        dir,
        &["check", "p.f", "a.f90", "b.f90"],
        &["F0105", "b.f90:1", "two subprograms are called S"],
    );
    write(dir, "b.f", fixed("SUBROUTINE S\nEND\n"));
    refused(
        dir,
        &["check", "p.f", "a.f90", "b.f"],
        &["F0105", "b.f:1", "S is in a.f90, too"],
    );
}
