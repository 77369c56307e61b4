//! `farfel fmt`.

use std::fs;
use std::path::Path;

use farfel_tests::{command, farfel, farfel_path, sandbox, write};
use snapbox::str;

const UGLY: &str = "\
C     Doubles what is positive
      Subroutine Twice(x)
      if(x.gt.0)then
      x=x*2   ! here
      endif
      end
";

const NEAT: &str = "\
C     Doubles what is positive
      Subroutine Twice(x)
      if (x .gt. 0) then
        x = x*2 ! here
      endif
      end
";

fn read(dir: &Path, name: &str) -> String {
    fs::read_to_string(dir.join(name)).unwrap()
}

#[test]
fn files_are_laid_out_once() {
    let dir = sandbox();
    write(dir.path(), "a.f", UGLY);
    farfel(dir.path())
        .args(["fmt", "--check", "a.f"])
        .assert()
        .code(1)
        .stdout_eq(str![])
        .stderr_eq(str![[r#"
     Differs a.f
error: 1 file is not laid out as `farfel fmt` does
help: `farfel fmt --diff` shows what would change

"#]]);
    assert_eq!(read(dir.path(), "a.f"), UGLY);
    farfel(dir.path())
        .args(["fmt", "--diff", "a.f"])
        .assert()
        .success()
        .stderr_eq(str![])
        .stdout_eq(str![[r#"
--- a.f
+++ a.f (laid out)
@@ -1,6 +1,6 @@
 C     Doubles what is positive
       Subroutine Twice(x)
-      if(x.gt.0)then
-      x=x*2   ! here
+      if (x .gt. 0) then
+        x = x*2 ! here
       endif
       end

"#]]);
    farfel(dir.path())
        .args(["fmt", "a.f"])
        .assert()
        .success()
        .stdout_eq(str![])
        .stderr_eq(str![[r#"
   Formatted a.f

"#]]);
    assert_eq!(read(dir.path(), "a.f"), NEAT);
    for arguments in [&["fmt", "a.f"][..], &["fmt", "--check", "a.f"]] {
        farfel(dir.path())
            .args(arguments)
            .assert()
            .success()
            .stdout_eq(str![])
            .stderr_eq(str![]);
    }
    // No other file is left.
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn forms_and_letters() {
    let dir = sandbox();
    write(dir.path(), "a.f", UGLY);
    farfel(dir.path())
        .args([
            "fmt", "--stdout", "--form", "free", "--case", "upper", "a.f",
        ])
        .assert()
        .success()
        .stderr_eq(str![])
        .stdout_eq(str![[r#"
!     Doubles what is positive
SUBROUTINE TWICE(X)
  IF (X .GT. 0) THEN
    X = X*2 ! here
  ENDIF
END

"#]]);
    assert_eq!(read(dir.path(), "a.f"), UGLY);
    // Converted and back.
    for form in ["free", "fixed"] {
        farfel(dir.path())
            .args(["fmt", "-q", "--form", form, "a.f"])
            .assert()
            .success();
    }
    assert_eq!(read(dir.path(), "a.f"), NEAT.replace("C     D", "!     D"));
}

#[test]
fn a_project_and_cargo_farfel() {
    let dir = sandbox();
    write(
        dir.path(),
        "Cargo.toml",
        "[package]\nname = \"p\"\nversion = \"0.1.0\"\n\n[build-dependencies]\nfarfel-build = \"0.1\"\n",
    );
    write(dir.path(), "src/lib.rs", "");
    write(dir.path(), "src/a.f", UGLY);
    write(dir.path(), "fortran/b.ff", NEAT);
    let cargo_farfel = farfel_path().with_file_name("cargo-farfel-under-test");
    if cargo_farfel.exists() {
        command(&cargo_farfel, dir.path())
            .args(["farfel", "fmt", "--check"])
            .assert()
            .code(1);
    }
    farfel(dir.path())
        .args(["fmt", "-v"])
        .assert()
        .success()
        .stderr_eq(str![[r#"
   Unchanged fortran/b.ff
   Formatted src/a.f

"#]]);
    assert_eq!(read(dir.path(), "src/a.f"), NEAT);
    // A form other than the project's.
    let manifest =
        read(dir.path(), "Cargo.toml") + "\n[package.metadata.farfel]\nform = \"fixed\"\n";
    write(dir.path(), "Cargo.toml", manifest);
    farfel(dir.path())
        .args(["fmt", "--form", "free", "src/a.f"])
        .assert()
        .code(1)
        .stderr_eq(str![[r#"
error: src/a.f is left as it is: the setting `form` in Cargo.toml asks for another source form

"#]]);
    assert_eq!(read(dir.path(), "src/a.f"), NEAT);
}

#[test]
fn what_cannot_be_read_is_left_alone() {
    let dir = sandbox();
    let open =
        "#ifdef A\n      DO I = 1, 3\n#else\n      DO I = 1, 4\n#endif\n      END DO\n      END\n";
    write(dir.path(), "open.F", open);
    write(dir.path(), "a.f", UGLY);
    farfel(dir.path())
        .args(["fmt", "open.F", "a.f"])
        .assert()
        .code(1)
        .stderr_eq(str![[r#"
error[F0003]: DO is not closed
 --> open.F:2:7
  |
2 |       DO I = 1, 3
  |       ^^^^^^^^^^^ opened here
...
7 |       END
  |       --- END DO is missing before the end of the program unit

error: 1 error
error: `open.F` is left as it is: it cannot be read
help: INCLUDE files are not read and lines for a preprocessor are not followed: each part that they divide a file into must close what it opens
   Formatted a.f

"#]]);
    assert_eq!(read(dir.path(), "open.F"), open);
    assert_eq!(read(dir.path(), "a.f"), NEAT);
}

/// Latin-1 stays Latin-1, line ends are preserved, and a link stays a link.
#[test]
fn bytes_and_links_stay() {
    let dir = sandbox();
    write(
        dir.path(),
        "a.f",
        b"C     Stra\xdfe\r\n      x='\xfc'\r\n      end\r\n",
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let path = dir.path().join("a.f");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("a.f", dir.path().join("link.f")).unwrap();
        farfel(dir.path())
            .args(["fmt", "link.f"])
            .assert()
            .success();
        let link = fs::symlink_metadata(dir.path().join("link.f")).unwrap();
        assert!(link.is_symlink());
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o640
        );
    }
    farfel(dir.path()).args(["fmt", "a.f"]).assert().success();
    assert_eq!(
        fs::read(dir.path().join("a.f")).unwrap(),
        b"C     Stra\xdfe\r\n      x = '\xfc'\r\n      end\r\n"
    );
}
