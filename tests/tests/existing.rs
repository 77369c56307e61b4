//! Existing folders of Fortran: the projects that `farfel init` makes of them build and run.

use std::fs;
use std::path::Path;
use std::process::Command;

use farfel_tests::{farfel, fixed, sandbox, write};

/// A farfel command in a project that builds in its own directory.
fn command(dir: &Path, args: &[&str]) -> snapbox::cmd::Command {
    farfel(dir).env_remove("CARGO_TARGET_DIR").args(args)
}

/// Returns the standard output and standard error of a command that succeeds.
fn said(dir: &Path, args: &[&str]) -> (String, String) {
    let done = command(dir, args).assert().success();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let output = done.get_output();
    (text(&output.stdout), text(&output.stderr))
}

fn contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part}\nis not in\n{text}");
    }
}

fn init(dir: &Path) -> String {
    said(dir, &["init", "--vcs", "none", "--name", "model"]).1
}

fn ran(dir: &Path, program: &str) -> String {
    let program = dir.join("target/debug").join(program);
    let output = Command::new(program).current_dir(dir).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Sources, objects and makefiles in separate folders, flags with the compiler, C that needs a definition.
#[test]
fn a_makefile_with_functions_and_folders() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "Makefile",
        "include config/gnu.mk\nSRC = $(wildcard src/*.f)\nOBJ = $(patsubst src/%.f,$(ODIR)/%.o,$(SRC)) obj/half.o\n\
         CFLAGS = -DUNDERSCORE -O2\nifeq ($(COMPILER),ifort)\nFC = ifort -r8\nendif\n\
         all: libs $(OBJ)\n\t$(FC) -o model $(OBJ) -Llib -lown\nlibs:\n\tcd lib && $(MAKE)\n\
         $(ODIR)/%.o: src/%.f\n\t$(FC) -Icommon -c $< -o $@\n",
    );
    write(
        dir,
        "config/gnu.mk",
        "COMPILER = gnu\nODIR := obj\nFC = gfortran -ffixed-line-length-none\n",
    );
    write(
        dir,
        "lib/makefile",
        "OBJ = third.o\nlibown.a: $(OBJ)\n\tar r $@ $(OBJ)\n",
    );
    write(
        dir,
        "lib/third.f",
        fixed("SUBROUTINE THIRD(X)\nX = X/3\nEND\n"),
    );
    write(
        dir,
        "lib/unused.f",
        fixed("SUBROUTINE THIRD(X)\nX = 0\nEND\n"),
    );
    let long = " ".repeat(80);
    write(
        dir,
        "src/main.f",
        fixed(&format!(
            "INCLUDE 'size.inc'\nX = {long}N\nCALL HALF(X)\nCALL THIRD(X)\nPRINT '(F4.1)', X\nEND\n"
        )),
    );
    write(dir, "common/size.inc", fixed("PARAMETER (N = 12)\n"));
    write(
        dir,
        "src/half.c",
        "#ifdef UNDERSCORE\nvoid half_(float *x) { *x /= 2; }\n#endif\n",
    );
    let text = init(dir);
    contains(
        &text,
        &[
            "-ffixed-line-length-none",
            "-DUNDERSCORE",
            "lib/unused.f: not in Makefile",
        ],
    );
    // The library consists of its sources.
    let manifest = fs::read_to_string(dir.join("Cargo.toml")).unwrap();
    assert!(manifest.contains("include = [\"common\"]"), "{manifest}");
    let manifest = manifest.replace("link = [\"own\"]\n", "");
    fs::write(dir.join("Cargo.toml"), manifest).unwrap();
    said(dir, &["build"]);
    assert_eq!(ran(dir, "model"), " 2.0\n");
}

/// A regression test: files that were passed through but still rejected came up again and again.
#[test]
fn what_is_passed_through_and_refused_is_left_out() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "one.f", fixed("PROGRAM ONE\nPRINT *, 'one'\nEND\n"));
    write(
        dir,
        "two.f",
        fixed(
            "PROGRAM TWO\nINTERFACE\nSUBROUTINE S\nEND\nEND INTERFACE\nINCLUDE 'none.inc'\nEND\n",
        ),
    );
    contains(&init(dir), &["Leaving out two.f: two.f:2:7: F0008"]);
    said(dir, &["build"]);
    assert_eq!(ran(dir, "model"), " one\n");
}

/// Several programs have subprograms of the same name, some of them in modern Fortran; and some have the same
/// name.
#[test]
fn programs_get_the_files_that_they_reach() {
    let dir = sandbox();
    let dir = dir.path();
    let program = |more: &str| fixed(&format!("I = 1\nCALL SHOW(I)\nEND\n{more}"));
    let show = |n: i32| format!("SUBROUTINE SHOW(I)\nCALL MORE(I)\nPRINT *, I + {n}\nEND\n");
    write(dir, "a.f", program(&show(10)));
    write(dir, "b/run.f", program(""));
    write(dir, "b/show.f", fixed(&show(20)));
    write(dir, "c/run.f", program(""));
    write(dir, "c/show.f", fixed(&show(30)));
    write(
        dir,
        "d.f90",
        "program d\n  type cell\n    integer :: i\n  end type\n  i = 1\n  call show(i)\nend program\nsubroutine show(i)\n  call more(i)\n  \
         print *, i + 40\nend subroutine\n",
    );
    write(
        dir,
        "more.f",
        fixed("SUBROUTINE MORE(I)\nCOMMON /K/ K\nI = K\nEND\n"),
    );
    write(
        dir,
        "data.f",
        fixed("BLOCK DATA\nCOMMON /K/ K\nDATA K /1000/\nEND\n"),
    );
    let text = init(dir);
    assert!(!text.contains("Leaving out"), "{text}");
    let (_, text) = said(dir, &["check"]);
    contains(&text, &["Checked b-run", "Passing on d.f90"]);
    said(dir, &["build"]);
    for (program, shown) in [("a", 1010), ("b-run", 1020), ("c-run", 1030), ("d", 1040)] {
        assert_eq!(ran(dir, program).trim(), shown.to_string(), "{program}");
    }
    // It is ambiguous which one is meant.
    write(dir, "e.f", program(""));
    let manifest = fs::read_to_string(dir.join("Cargo.toml")).unwrap();
    let manifest = manifest.replace("sources = [", "sources = [\"e.f\", ");
    fs::write(dir.join("Cargo.toml"), manifest).unwrap();
    let refused = command(dir, &["build", "--bin", "e"]).assert().failure();
    let text = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    contains(&text, &["F0105", "there are two program units named SHOW"]);
}

/// Lists with functions, loops, conditions, patterns, and flags of another compiler; an INCLUDE file that Farfel does
/// not read.
#[test]
fn cmake_with_functions_and_conditions() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "CMakeLists.txt",
        "project(model Fortran C)\noption(WITH_OLD \"old\" OFF)\n\
         if(CMAKE_Fortran_COMPILER_ID MATCHES Intel)\n  set(CMAKE_Fortran_FLAGS \"-fp-model precise\")\nelse()\n\
         set(CMAKE_Fortran_FLAGS \"${CMAKE_Fortran_FLAGS} -frecursive -fno-such-flag\")\nendif()\n\
         file(GLOB LIB lib/*.f)\nadd_library(own STATIC ${LIB})\n\
         function(programs list)\n  foreach(p ${${list}})\n    add_executable(${p} ${model_SOURCE_DIR}/app/${p}.f)\n\
         target_link_libraries(${p} own)\n  endforeach()\nendfunction()\nset(all one two)\nprograms(all)\n\
         if(WITH_OLD)\n  add_executable(three app/three.f)\nendif()\n\
         if(WIN32)\n  add_library(win win.c)\nelse()\n  add_library(unix unix.c)\nendif()\n",
    );
    let program = |n: i32| {
        fixed(&format!(
            "INCLUDE 'own.inc'\nCALL OWN({n}, I)\nPRINT *, I\nEND\n"
        ))
    };
    for (name, n) in [("one", 1), ("two", 2), ("three", 3)] {
        write(dir, &format!("app/{name}.f"), program(n));
    }
    write(
        dir,
        "lib/own.inc",
        fixed("INTERFACE\nSUBROUTINE OWN(N, I)\nINTEGER N, I\nEND SUBROUTINE\nEND INTERFACE\n"),
    );
    write(
        dir,
        "lib/own.f",
        fixed("SUBROUTINE OWN(N, I)\nI = 7*N\nEND\n"),
    );
    write(dir, "win.c", "#include <no_such_file.h>\n");
    write(dir, "unix.c", "int unused_here;\n");
    let text = init(dir);
    contains(
        &text,
        &[
            "2 main programs (app/one.f, app/two.f)",
            "not taken over: -fno-such-flag",
            "F0008 Farfel does not support INTERFACE blocks",
            "Leaving out app/three.f, win.c: not in CMakeLists.txt",
        ],
    );
    assert!(!text.contains("-fp-model"), "{text}");
    said(dir, &["build"]);
    assert_eq!(
        (ran(dir, "one").trim(), ran(dir, "two").trim()),
        ("7", "14")
    );
    let (steps, _) = said(dir, &["graph", "--plan", "app/one.f", "lib/own.f"]);
    assert!(!steps.contains("make the library"), "{steps}");
    contains(&steps, &["compile app/one.f  (as it is; "]);
}

/// gfortran gets files with flags of their own, and all where INTEGER is to have 8 bytes.
#[test]
fn flags_that_are_not_for_farfel() {
    let dir = sandbox();
    let dir = dir.path();
    let sources = |dir: &Path| {
        write(dir, "main.f", fixed("CALL SHOW(BIT_SIZE(I))\nEND\n"));
        write(
            dir,
            "show.F",
            fixed("SUBROUTINE SHOW(I)\nPRINT *, I, N\nEND\n"),
        );
        write(dir, "tool.c", "int main(void) { return 0; }\n");
    };
    let (one, other) = (dir.join("one"), dir.join("other"));
    sources(&one);
    write(
        &one,
        "CMakeLists.txt",
        "project(p Fortran C)\nadd_executable(p main.f show.F)\nadd_executable(t tool.c)\n\
         set_source_files_properties(show.F PROPERTIES COMPILE_DEFINITIONS N=3)\n",
    );
    contains(
        &init(&one),
        &[
            "Passing on show.F: CMakeLists.txt has flags for it: -DN=3",
            "Leaving out tool.c: it has a main program in C",
        ],
    );
    said(&one, &["build"]);
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words(ran(&one, "model")), "32 3");
    sources(&other);
    write(
        &other,
        "makefile",
        "FFLAGS = -fdefault-integer-8 -DN=4\np: main.f show.F\n",
    );
    contains(
        &init(&other),
        &["Passing on main.f, show.F: makefile has -fdefault-integer-8, and Farfel's INTEGER"],
    );
    said(&other, &["build"]);
    assert_eq!(words(ran(&other, "model")), "64 4");
}

/// C that does not compile, say of an interface to R, does not keep the rest from building.
#[test]
fn c_that_does_not_compile_is_left_out() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "main.f", fixed("PRINT *, 5\nEND\n"));
    write(dir, "glue.c", "#include <no_such_file.h>\n");
    contains(&init(dir), &["Leaving out glue.c: glue.c:1:1: F0401"]);
    said(dir, &["build"]);
    assert_eq!(ran(dir, "model").trim(), "5");
}

/// Files that are left out because of an error may be needed.
#[test]
fn what_a_program_lacks_may_be_left_out() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "main.f", fixed("CALL ONE(X)\nEND\n"));
    write(
        dir,
        "one.f",
        fixed(
            "SUBROUTINE ONE(X)\nX = TWO(1.0)\nEND\nDOUBLE PRECISION FUNCTION TWO(X)\nTWO = X\nEND\n",
        ),
    );
    contains(&init(dir), &["Leaving out one.f: one.f:2:11: F0104"]);
    let failed = command(dir, &["build"]).assert().code(1);
    let text = String::from_utf8_lossy(&failed.get_output().stderr).into_owned();
    contains(
        &text,
        &["error: ONE is in one.f, which the setting `exclude` leaves out"],
    );
}

/// Names of programs with dots, which pattern rules build from their sources.
#[test]
fn programs_with_dots_in_their_names() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "makefile",
        "all: one.old.exe one.new.exe\n%.exe: lib.f %.f\n\t$(FC) -o $@ $^\n",
    );
    write(dir, "lib.f", fixed("SUBROUTINE SHOW(I)\nPRINT *, I\nEND\n"));
    for (name, i) in [("old", 1), ("new", 2), ("unused", 3)] {
        write(
            dir,
            &format!("one.{name}.f"),
            fixed(&format!("CALL SHOW({i})\nEND\n")),
        );
    }
    contains(&init(dir), &["Leaving out one.unused.f: not in makefile"]);
    said(dir, &["build"]);
    assert_eq!(ran(dir, "one.old").trim(), "1");
    assert_eq!(ran(dir, "one.new").trim(), "2");
}

/// A library in a folder whose name is not a valid package name, with tests in `fpm`'s layout.
#[test]
fn a_library_with_tests() {
    let dir = sandbox();
    let dir = &dir.path().join("2.model");
    write(dir, "fpm.toml", "[build]\nauto-executables = false\n");
    write(dir, "src/one.f", fixed("SUBROUTINE ONE(I)\nI = 1\nEND\n"));
    let test = |n: i32| fixed(&format!("CALL ONE(I)\nIF (I .NE. {n}) STOP 1\nEND\n"));
    write(dir, "test/good.f", test(1));
    let (_, text) = said(dir, &["init", "--vcs", "none"]);
    contains(
        &text,
        &[
            "Found 1 source file, 1 test (test/good.f), fpm.toml",
            "Naming the package `fortran-2-model`, as `2.model` cannot be a package name",
            "`farfel test` runs the tests",
        ],
    );
    let (text, _) = said(dir, &["test"]);
    contains(
        &text,
        &["test good ... ok\n\ntest result: ok. 1 passed; 0 failed\n"],
    );
    write(dir, "test/bad.f", test(2));
    let failed = command(dir, &["test", "bad"]).assert().code(1);
    let text = String::from_utf8_lossy(&failed.get_output().stdout).into_owned();
    contains(&text, &["test bad ... FAILED", "0 passed; 1 failed"]);
    // Options for a part of the package are passed on to cargo.
    let (text, _) = said(dir, &["test", "--lib"]);
    assert!(!text.contains("test bad"), "{text}");
}

/// Preprocessor directives in files whose names do not imply the preprocessor.
#[test]
fn directives_want_the_preprocessor() {
    let dir = sandbox();
    let dir = dir.path();
    let text = "#ifdef NEVER\n      INCLUDE 'none.inc'\n#endif\n      PRINT *, 6\n      END\n";
    write(dir, "main.f", text);
    init(dir);
    let manifest = fs::read_to_string(dir.join("Cargo.toml")).unwrap();
    assert!(manifest.contains("preprocess = true"), "{manifest}");
    said(dir, &["build"]);
    assert_eq!(ran(dir, "model").trim(), "6");
}

/// A library with one subprogram.
#[cfg(unix)]
fn library(dir: &Path, name: &str, value: i32) {
    fs::create_dir_all(dir).unwrap();
    let source = dir.join("own.f");
    fs::write(
        &source,
        fixed(&format!("SUBROUTINE OWN(I)\nI = {value}\nEND\n")),
    )
    .unwrap();
    let object = dir.join("own.o");
    let run = |program: &str, args: &[&Path]| {
        let status = Command::new(program).args(args).status().unwrap();
        assert!(status.success(), "{program}");
    };
    run(
        "gfortran",
        &["-c".as_ref(), "-o".as_ref(), &object, &source],
    );
    let archive = dir.join(format!("lib{name}.a"));
    let _ = fs::remove_file(&archive);
    run("ar", &["rcs".as_ref(), &archive, &object]);
}

#[cfg(unix)]
#[test]
fn libraries_are_found_by_pkg_config_and_linked_again() {
    use std::os::unix::fs::PermissionsExt;
    let dir = sandbox();
    let dir = dir.path();
    let lib = dir.join("opt/lib");
    library(&lib, "ownlib", 11);
    let pkg_config = dir.join("pkg-config");
    let says = format!(
        "#!/bin/sh\n[ \"$2\" = own ] && echo \"-L{} -lownlib\"\n",
        lib.display()
    );
    fs::write(&pkg_config, says).unwrap();
    fs::set_permissions(&pkg_config, fs::Permissions::from_mode(0o755)).unwrap();
    write(
        dir,
        "p/Cargo.toml",
        "[package]\nname = \"model\"\nversion = \"0.1.0\"\n[package.metadata.farfel]\nlink = [\"own\"]\n",
    );
    write(dir, "p/src/main.f", fixed("CALL OWN(I)\nPRINT *, I\nEND\n"));
    let project = dir.join("p");
    let with = |args: &[&str]| command(&project, args).env("PKG_CONFIG", &pkg_config);
    let built = with(&["build"]).assert().success();
    // It is known, although no source defines it.
    let text = String::from_utf8_lossy(&built.get_output().stderr).into_owned();
    assert!(!text.contains("F0107"), "{text}");
    assert_eq!(ran(&project, "model").trim(), "11");
    library(&lib, "ownlib", 12);
    with(&["build"]).assert().success();
    assert_eq!(ran(&project, "model").trim(), "12");
    let doctor = with(&["doctor"]).assert().success();
    let text = String::from_utf8_lossy(&doctor.get_output().stdout).into_owned();
    contains(&text, &["library own", "-lownlib, by pkg-config"]);
    // No package provides it.
    let without = |args: &[&str]| {
        let failed = command(&project, args).env("PKG_CONFIG", "/no/such/pkg-config");
        let failed = failed.assert().code(1);
        String::from_utf8_lossy(&failed.get_output().stderr).into_owned()
    };
    contains(
        &without(&["build"]),
        &[
            "error: neither the linker nor pkg-config finds the library own, which the setting `link` names",
        ],
    );
    contains(&without(&["doctor"]), &["error: library own is missing"]);
}

#[test]
fn clean_leaves_what_other_projects_have_in_a_shared_directory() {
    let dir = sandbox();
    let target = dir.path().join("target");
    let package = |name: &str| {
        let manifest =
            format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
        write(dir.path(), &format!("{name}/Cargo.toml"), manifest);
        write(dir.path(), &format!("{name}/src/main.rs"), "fn main() {}\n");
        let run = |args: &[&str]| {
            let command = farfel(&dir.path().join(name)).env("CARGO_TARGET_DIR", &target);
            command.args(args).assert().success();
        };
        run(&["build", "-q"]);
        run(&["build", "-q", "--release"]);
    };
    package("one");
    package("two");
    let one = farfel(&dir.path().join("one")).env("CARGO_TARGET_DIR", &target);
    one.args(["clean", "-q"]).assert().success();
    let exists = |name: &str| {
        target
            .join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
            .exists()
    };
    assert!(!exists("debug/one") && !exists("release/one"));
    assert!(exists("debug/two") && exists("release/two"));
    // Its own target directory is removed as a whole.
    let own = farfel(&dir.path().join("two")).env_remove("CARGO_TARGET_DIR");
    own.args(["build", "-q"]).assert().success();
    let own = farfel(&dir.path().join("two")).env_remove("CARGO_TARGET_DIR");
    own.args(["clean", "-q"]).assert().success();
    assert!(!dir.path().join("two/target").exists());
}

/// DDASPK calls the procedure for the Jacobian with seven arguments, or, with Krylov's method, with fourteen, of which
/// the first is a procedure. That does not make procedures of the arguments of the one that the user passes, nor of
/// what is passed along with them.
#[test]
fn solvers_call_one_procedure_in_several_ways() {
    let dir = sandbox();
    let dir = dir.path();
    let solver = "SUBROUTINE SOLVER(METHOD, T, Y, RES, JAC)
DOUBLE PRECISION T, Y
EXTERNAL RES, JAC
IF (METHOD .EQ. 0) THEN
CALL DIRECT(T, Y, JAC)
ELSE
CALL KRYLOV(T, Y, RES, JAC)
END IF
END
SUBROUTINE DIRECT(T, Y, JACD)
DOUBLE PRECISION T, Y, P
EXTERNAL JACD
CALL JACD(T, Y, P)
Y = Y*P
END
SUBROUTINE KRYLOV(T, Y, RES, JACK)
DOUBLE PRECISION T, Y, P
EXTERNAL RES, JACK
CALL JACK(RES, T, Y, P)
Y = Y*P
END
SUBROUTINE RES(T, Y)
DOUBLE PRECISION T, Y
Y = Y + T
END
SUBROUTINE JAC(T, Y, P)
DOUBLE PRECISION T, Y, P
P = 2*Y
END
SUBROUTINE JACRES(R, T, Y, P)
DOUBLE PRECISION T, Y, P
EXTERNAL R
P = 2*Y
CALL R(T, P)
END
";
    write(dir, "solver.f", fixed(solver));
    let main = "PROGRAM MAIN
DOUBLE PRECISION T, Y, Z, D, G
EXTERNAL RES, JAC, JACRES
READ *, METHOD
T = 1
Y = 3
IF (METHOD .GE. 2) THEN
CALL SOLVER(METHOD - 2, T, Y, RES, JAC)
END IF
ADF(TANGENT(Y) = 1)
Z = Y
CALL SOLVER(0, T, Z, RES, JAC)
END ADF(D = TANGENT(Z))
ADR(Z)
Z = Y
CALL SOLVER(0, T, Z, RES, JAC)
END ADR(G = COTANGENT(Y))
PRINT '(3F5.1)', Z, D, G
ADF(TANGENT(Y) = 1)
Z = Y
CALL SOLVER(1 - METHOD, T, Z, RES, JACRES)
END ADF(D = TANGENT(Z))
ADR(Z)
Z = Y
CALL SOLVER(1 - METHOD, T, Z, RES, JACRES)
END ADR(G = COTANGENT(Y))
PRINT '(3F5.1)', Z, D, G
END
";
    write(dir, "main.ff", fixed(main));
    let built = said(dir, &["build", "main.ff", "solver.f", "-o", "main"]).1;
    contains(
        &built,
        &["warning[F0103]: JAC takes 3 arguments, but 4 are given"],
    );
    for (method, expected) in [
        ("0", " 18.0 12.0 12.0\n 21.0 13.0 13.0"),
        (
            "1",
            " 18.0 12.0 12.0\nSTOP JACD is called with 3 arguments, but JACRES takes 4, of other types",
        ),
        (
            "3",
            "STOP JACK is called with 4 arguments, but JAC takes 3, of other types",
        ),
    ] {
        write(dir, "input", method);
        let input = fs::File::open(dir.join("input")).unwrap();
        let output = Command::new(dir.join("main"))
            .stdin(input)
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).trim_end().to_owned();
        assert_eq!(text, expected, "{method}");
    }
}

/// A driver passes one procedure for several dummy procedures, as those of SLATEC do: those that do not fit are not
/// called, and end the program if they are. Arguments that a procedure does not have are not passed.
#[test]
fn drivers_pass_one_procedure_for_several() {
    let dir = sandbox();
    let dir = dir.path();
    let driver = "SUBROUTINE DRIVER(F, MODE, X, Y)
DOUBLE PRECISION X, Y
EXTERNAL F
CALL SOLVE(F, F, F, F, MODE, X, Y)
END
SUBROUTINE SOLVE(F, JAC, G, USERS, MODE, X, Y)
DOUBLE PRECISION X, Y, G
EXTERNAL F, JAC, G, USERS
CALL F(X, Y)
IF (MODE .EQ. 1) CALL JAC(X, Y, MODE)
IF (MODE .EQ. 2) THEN
Y = Y + 1
ELSE IF (MODE .GE. 3 .AND. MODE .LE. 3 .AND. G(X) .GT. 0) THEN
Y = Y + 2
END IF
IF (MODE .EQ. 4) CALL USERS(MODE, Y, X)
IF (MODE .LT. 6 .OR. MODE .GT. 6 .AND. G(X) .GT. 0) Y = Y + 0
K = 0
DO WHILE (K .LT. MODE - 4 .AND. (MODE .NE. 7 .OR. G(X) .GT. 0))
K = K + 1
END DO
DO 10 I = 5, MODE
10 Y = Y + G(X)
END
SUBROUTINE SQUARE(X, Y)
DOUBLE PRECISION X, Y
Y = X*X
END
";
    write(
        dir,
        "driver.f",
        fixed(driver).replace("      10 Y", "   10 Y"),
    );
    let main = "PROGRAM MAIN
DOUBLE PRECISION X, Y, D, G
EXTERNAL SQUARE
READ *, MODE
X = 3
ADF(TANGENT(X) = 1)
CALL DRIVER(SQUARE, MODE, X, Y)
END ADF(D = TANGENT(Y))
ADR(Y)
CALL DRIVER(SQUARE, MODE, X, Y)
END ADR(G = COTANGENT(X))
PRINT '(3F5.1)', Y, D, G
END
";
    write(dir, "main.ff", fixed(main));
    let built = said(dir, &["build", "main.ff", "driver.f", "-o", "main"]).1;
    contains(
        &built,
        &[
            "warning[F0103]: G is called as a function here, but SQUARE is a subroutine",
            "warning[F0103]: SQUARE takes 2 arguments, but 3 are given",
        ],
    );
    for (mode, expected) in [
        ("0", "  9.0  6.0  6.0"),
        ("1", "  9.0  6.0  6.0"),
        ("2", " 10.0  6.0  6.0"),
        (
            "3",
            "STOP G is called as a function, but SQUARE is a subroutine",
        ),
        (
            "4",
            "STOP USERS is called with 3 arguments, but SQUARE takes 2, of other types",
        ),
        (
            "5",
            "STOP G is called as a function, but SQUARE is a subroutine",
        ),
    ] {
        write(dir, "input", mode);
        let input = fs::File::open(dir.join("input")).unwrap();
        let output = Command::new(dir.join("main"))
            .stdin(input)
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        assert_eq!(
            String::from_utf8_lossy(&text).trim_end(),
            expected,
            "{mode}"
        );
    }
}
