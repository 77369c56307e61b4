//! Tests of lint levels: from settings, from comments, and what is always an error.

use farfel_lang::diagnostic::{Level, rules};
use farfel_lang::lints::{Lints, rule};
use farfel_lang::resolve::resolve_with;
use farfel_lang::syntax::{Form, NoIncludes, parse};
use farfel_lang::{Severity, Sources};

/// Returns `line severity message` for each diagnostic.
fn found(text: &str, levels: &[(&str, Level)]) -> Vec<String> {
    let mut lints = Lints::default();
    lints.set_all(levels.iter().copied()).unwrap();
    let mut sources = Sources::new();
    let file = sources.add("a.f", text);
    let mut program = parse(&mut sources, file, Some(Form::Fixed), &mut NoIncludes).program;
    let found = resolve_with(&mut program, &lints);
    let shown = found.iter().map(|d| {
        let line = sources
            .get(d.span.file)
            .unwrap()
            .line_column(d.span.start)
            .line;
        let severity = match d.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        format!("{line} {severity} {} {}", d.rule.name, d.label)
    });
    shown.map(|l| l.trim_end().to_owned()).collect()
}

const THREE: &str = "\
      SUBROUTINE A
      CALL NOBODY(1)
      END
      SUBROUTINE B
      CALL NOBODY(1)
      END
      SUBROUTINE C
      CALL NOBODY(1)
      END
";

#[test]
fn settings_decide() {
    let others = "not known here, nor in 2 more program units";
    let warned = format!("2 warning unknown-procedure {others}");
    assert_eq!(found(THREE, &[]), std::slice::from_ref(&warned));
    let denied = format!("2 error unknown-procedure {others}");
    for deny in ["unknown-procedure", "F0107", "all", "warnings"] {
        assert_eq!(
            found(THREE, &[(deny, Level::Deny)]),
            std::slice::from_ref(&denied)
        );
    }
    assert!(found(THREE, &[("unknown-procedure", Level::Allow)]).is_empty());
    // A name takes precedence over a group, wherever it appears.
    let both = [("unknown-procedure", Level::Warn), ("all", Level::Deny)];
    assert_eq!(found(THREE, &both), [warned]);
}

#[test]
fn comments_decide_for_their_unit() {
    let text = THREE.replacen(
        "      CALL",
        "C     Farfel: allow(unknown-procedure)\n      CALL",
        1,
    );
    let after = "6 warning unknown-procedure not known here, nor in one more program unit";
    assert_eq!(found(&text, &[]), [after]);
    let before = format!("C     farfel: DENY(argument-type, Unknown-Procedure)\n{THREE}");
    let found = found(&before, &[]);
    assert_eq!(
        found,
        [
            "3 error unknown-procedure not known here",
            "6 warning unknown-procedure not known here, nor in one more program unit",
        ]
    );
}

#[test]
fn directives_that_are_none() {
    let text = "!farfel: form=fixed, line-length=72
      SUBROUTINE S(X)
!farfel: jiont
      X = 1
C     farfel: independant
      DO 10 I = 1, 3
   10 X = X + 1
C     Farfel: it is a language, and this is prose.
C     farfel: constnt begin
      X = 2
!farfel: allow(unused-label)
!farfel: fix-point
      END
";
    assert_eq!(
        found(
            text,
            &[("all", Level::Allow), ("unknown-directive", Level::Warn)]
        ),
        [
            "3 warning unknown-directive",
            "5 warning unknown-directive",
            "9 warning unknown-directive",
            "12 warning unknown-directive",
        ]
    );
}

/// The list of directives matches the documentation.
#[test]
fn directives_of_the_documentation_are_known() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let docs = std::fs::read_dir(root.join("docs")).unwrap();
    let docs = docs.map(|f| f.unwrap().path());
    let mut pages: Vec<std::path::PathBuf> = docs.filter(|p| p.is_file()).collect();
    pages.push(root.join("README.md"));
    let mut text = "      SUBROUTINE S\n".to_owned();
    for page in pages {
        let page = std::fs::read_to_string(page).unwrap();
        let directives = page.split("!farfel:").skip(1);
        for d in directives.filter_map(|d| d.split(['\n', '`']).next()) {
            // Details about the others are documented elsewhere.
            let word = d.trim().split(['(', '=', ' ', ',']).next().unwrap();
            text += &format!("C     farfel: {word}\n");
        }
    }
    text += "      END\n";
    assert!(text.lines().count() > 12, "{text}");
    let unknown = found(&text, &[]);
    let unknown = unknown.iter().filter(|f| f.contains("unknown-directive"));
    assert_eq!(unknown.collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn names_that_are_none() {
    let text =
        format!("{THREE}      SUBROUTINE D\n!     farfel: allow(unused, syntax)\n      END\n");
    let errors = found(&text, &[("all", Level::Allow)]);
    assert_eq!(errors, ["11 error unknown-lint", "11 error unknown-lint"]);
    let mut lints = Lints::default();
    assert_eq!(
        lints.set("duplicate-unit", Level::Warn).unwrap_err(),
        "`duplicate-unit` is always an error and cannot be set to `warn`"
    );
    assert_eq!(
        lints.set("xyzzy", Level::Warn).unwrap_err(),
        "unknown warning `xyzzy`; `farfel explain` lists them"
    );
    assert_eq!(rule("f0107"), Ok(&rules::UNKNOWN_PROCEDURE));
    assert_eq!(
        rule("duplicate-unti").unwrap_err(),
        "there is no rule `duplicate-unti`; did you mean `duplicate-unit`?"
    );
}

#[test]
fn own_sources_are_held_to_more() {
    let mut sources = Sources::new();
    let file = sources.add("a.ff", THREE);
    let mut lints = Lints::default();
    lints.strict_in(file);
    let parsed =
        |sources: &mut Sources| parse(sources, file, Some(Form::Fixed), &mut NoIncludes).program;
    assert!(resolve_with(&mut parsed(&mut sources), &lints)[0].is_error());
    lints.set("unknown-procedure", Level::Warn).unwrap();
    assert!(!resolve_with(&mut parsed(&mut sources), &lints)[0].is_error());
}

/// Lints that are only reported on request.
#[test]
fn allowed_by_default() {
    let text = "\
      SUBROUTINE S(A, B, N)
      INTEGER UNUSED, N
      REAL X(3), A, B
      DATA X /3*1.0/
   10 DO 20 I = 1, N
      DO 20 R = 1.0, 2.0
      A = A + X(I)
   20 CONTINUE
      IF (A) 30, 30, 40
   30 ASSIGN 40 TO L
      GOTO L
   40 PAUSE
      END
";
    assert!(found(text, &[]).is_empty());
    let named = |name: &str| -> Vec<String> {
        let all = found(text, &[(name, Level::Warn)]);
        let lines = all.iter().filter_map(|l| l.split(' ').next());
        lines.map(str::to_owned).collect()
    };
    assert_eq!(named("unused-variable"), ["2"]);
    assert_eq!(named("unused-argument"), ["1"]);
    assert_eq!(named("unused-label"), ["5"]);
    assert_eq!(named("implicit-typing"), ["5", "6", "10"]);
    // Two loops with one end, a REAL variable, arithmetic IF, ASSIGN, assigned GOTO, PAUSE.
    let old = ["5", "6", "9", "10", "11", "12"];
    assert_eq!(named("obsolescent"), old);
}

/// With `real-kind = 8`, a REAL takes eight bytes, and storage is counted accordingly.
#[test]
fn storage_is_counted_with_the_size_of_real() {
    let text = "      COMMON /C/ I, X\n      X = I\n      END\n";
    let of = |lints: &Lints| {
        let mut sources = Sources::new();
        let file = sources.add("a.f", text);
        let mut program = parse(&mut sources, file, Some(Form::Fixed), &mut NoIncludes).program;
        let found = resolve_with(&mut program, lints);
        let messages = found.iter().map(|d| d.message.clone());
        messages.collect::<Vec<_>>()
    };
    assert_eq!(of(&Lints::default()), Vec::<String>::new());
    assert_eq!(
        of(&Lints::default().with_real(8)),
        ["X in COMMON /C/ comes after 4 bytes that are not used"]
    );
}
