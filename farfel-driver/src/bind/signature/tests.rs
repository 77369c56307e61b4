use super::*;
use farfel_lang::effects::DummyAssumptions;
use farfel_lang::syntax::{ReadOptions, parse_with};

/// What becomes of the arguments of the first subprogram; else what is wrong with the settings.
fn roles(source: &str, settings: &str) -> Result<String, Vec<String>> {
    let mut sources = Sources::new();
    let file = sources.add("a.f", source);
    let options = ReadOptions::default();
    let mut parsed = parse_with(&mut sources, file, &options, &mut NoIncludes);
    let errors = [parsed.diagnostics, resolve(&mut parsed.program)].concat();
    assert!(!diagnostic::any_errors(&errors), "{source}\n{errors:?}");
    let program = parsed.program;
    let assigned = Assigned::with(&program, DummyAssumptions::Closures);
    let intents = Intents::of(&program);
    let table: SignatureSettings = toml::from_str(settings).unwrap();
    let mut builder = SignatureBuilder::new(&program.units[0], &table, &assigned, &intents);
    let signature = builder.signature();
    if !builder.errors.is_empty() {
        return Err(builder.errors);
    }
    let shown = (0..signature.roles.len()).map(|p| {
        let name = builder.name(p).to_ascii_lowercase();
        let status = signature.statuses.iter().find(|s| s.position == p);
        let wrong = status.map_or(String::new(), |s| {
            let wrong: Vec<String> = s.wrong.iter().map(|(o, v)| format!("{o}{v}")).collect();
            format!(" wrong {}", wrong.join("|"))
        });
        let role = match &signature.roles[p] {
            Role::Given if signature.views.contains_key(&p) => {
                let dense = if signature.views[&p].dense {
                    " dense"
                } else {
                    ""
                };
                format!(" matrix{dense}")
            }
            Role::Given => String::new(),
            Role::Size(arrays) => {
                let one = |s: &SizeSource| match s.what {
                    Measure::Elements => builder.name(s.position).to_owned(),
                    what => {
                        let word = what.words().split(' ').next_back().unwrap();
                        format!("{}.{}", builder.name(s.position), word)
                    }
                };
                let arrays: Vec<String> = arrays.iter().map(one).collect();
                format!(" size {}", arrays.join(" "))
            }
            Role::Length(bounds) => format!(" length {}", bounds.shown),
            Role::Output(None) => " output".into(),
            Role::Output(Some(bounds)) => format!(" output {}", bounds.shown),
            Role::Workspace(bounds) => format!(" workspace {}", bounds.shown),
            Role::Status => " status".into(),
        };
        format!("{name}{role}{wrong}")
    });
    Ok(shown.collect::<Vec<_>>().join(", "))
}

#[track_caller]
fn check(lines: &[&str], settings: &str, expected: &str) {
    let source: String = lines.iter().map(|l| line(l)).collect();
    assert_eq!(roles(&source, settings).as_deref(), Ok(expected));
}

/// Comments and labels stand where they are.
fn line(text: &str) -> String {
    match text.starts_with(|c: char| c == 'C' && text.as_bytes().get(1) == Some(&b' ')) {
        true => format!("{text}\n"),
        false => {
            let label = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            format!("{:<6}{}\n", &text[..label], text[label..].trim_start())
        }
    }
}

#[test]
fn sizes_are_bounds_of_what_is_given() {
    let head = "SUBROUTINE S(N, M, K, X, Y, A)";
    let sum = ["X(1) = X(2) + Y(1) + A(1, 1) + K + M + N", "END"];
    let check = |declared: &str, settings: &str, expected: &str| {
        check(&[head, declared, sum[0], sum[1]], settings, expected);
    };
    check(
        "DIMENSION X(N), Y(N), A(M, N)",
        "",
        "n size X Y A.columns, m size A.rows, k, x, y, a matrix dense",
    );
    // Neither an expression nor another lower bound, nor what is open.
    check(
        "DIMENSION X(0:N), Y(2*N), A(M, *)",
        "",
        "n, m size A.rows, k, x, y, a matrix dense",
    );
    check(
        "DIMENSION X(1:N), Y(1), A(3, 3)",
        "",
        "n size X, m, k, x, y, a matrix dense",
    );
    check(
        "DIMENSION X(N), Y(*), A(M, N)",
        "shapes = ['y(m)']",
        "n size X A.columns, m size Y A.rows, k, x, y, a matrix dense",
    );
    check(
        "DIMENSION X(N), Y(M), A(M, N)",
        "keep = ['n']",
        "n, m size Y A.rows, k, x, y, a matrix dense",
    );
    // What is assigned cannot be left out.
    let assigned = [
        "SUBROUTINE S(N, X)",
        "DIMENSION X(N)",
        "N = X(1) + N",
        "END",
    ];
    super::tests::check(&assigned, "", "n, x");
}

#[test]
fn matrices_have_sizes() {
    let check = |declared: &str, settings: &str, expected: &str| {
        let head = "SUBROUTINE S(N, M, LDA, A, B)";
        let body = "A(1, 1) = B(1, 1) + N + M + LDA";
        super::tests::check(&[head, declared, body, "END"], settings, expected);
    };
    check(
        "DIMENSION A(M, N), B(N, N)",
        "",
        "n size A.columns B.rows B.columns, m size A.rows, lda, a matrix dense, b matrix dense",
    );
    // How far apart columns begin is no number of rows.
    check(
        "DIMENSION A(LDA, N), B(LDA, *)",
        "",
        "n size A.columns, m, lda size A.column B.column, a matrix, b matrix",
    );
    check(
        "DIMENSION A(LDA, *), B(3, 0:M)",
        "shapes = ['a(n, n)']",
        "n size A.rows A.columns, m, lda size A.column, a matrix, b matrix dense",
    );
    check(
        "DIMENSION A(LDA, N), B(N, N)",
        "keep = ['a', 'b', 'lda']",
        "n, m, lda, a, b",
    );
}

#[test]
fn outputs_are_always_set() {
    let check = |lines: &[&str], expected: &str| {
        let head = ["SUBROUTINE S(N, X, Y)", "DIMENSION X(N), Y(N)"];
        let lines = [&head, lines, &["END"]].concat();
        super::tests::check(&lines, "", expected);
    };
    let (output, given) = ("n size X, x, y output Y(N)", "n size X Y, x, y");
    check(&["DO I = 1, N", "Y(I) = X(I)", "END DO"], output);
    check(&["Y = X"], output);
    check(
        &[
            "DO I = 1, N",
            "Y(I) = 0",
            "DO J = 1, I",
            "Y(I) = Y(I) + X(J)",
            "END DO",
            "END DO",
        ],
        output,
    );
    check(&["DO 10 I = 1, N", "10 Y(I) = X(I)", "Y(1) = Y(2)"], output);
    // Not all elements, not on every way, or read before.
    check(&["DO I = 2, N", "Y(I) = X(I)", "END DO"], given);
    check(&["DO I = 1, N, 2", "Y(I) = X(I)", "END DO"], given);
    check(&["DO I = 1, N", "Y(N + 1 - I) = X(I)", "END DO"], given);
    check(
        &["DO I = 1, N", "IF (X(I) .GT. 0) Y(I) = X(I)", "END DO"],
        given,
    );
    check(
        &[
            "DO I = 1, N",
            "IF (X(I) .GT. 0) EXIT",
            "Y(I) = X(I)",
            "END DO",
        ],
        given,
    );
    check(&["IF (X(1) .EQ. 0) RETURN", "Y = X"], given);
    check(&["X(1) = Y(1)", "Y = X"], given);
    check(
        &["DO I = 1, N", "Y(I) = X(I)", "X(I) = Y(1)", "END DO"],
        given,
    );
    check(
        &[
            "DO J = 1, 2",
            "DO I = 1, N",
            "Y(I) = X(I)",
            "END DO",
            "END DO",
        ],
        given,
    );
    check(&["Y(1) = X(1)"], given);
    check(&["WHERE (X .GT. 0) Y = X"], given);
    check(&["CALL F(Y)", "Y = X"], given);

    let numbers = |lines: &[&str], expected: &str| {
        let lines = [&["SUBROUTINE S(A, B, D)"], lines, &["END"]].concat();
        super::tests::check(&lines, "", expected);
    };
    numbers(&["B = A", "IF (A .GT. 0) D = A"], "a, b output, d");
    numbers(&["B = B + A", "D = 1", "D = D + B"], "a, b, d output");
    numbers(
        &["IF (A .GT. 0) THEN", "B = 1", "ELSE", "B = 2", "END IF"],
        "a, b output, d",
    );
    numbers(&["IF (A .GT. 0) STOP", "B = 1"], "a, b output, d");
    // A rank of two, and a length that is not what it was.
    super::tests::check(
        &[
            "SUBROUTINE S(N, M, A, B)",
            "DIMENSION A(M, N), B(M)",
            "B(1) = 0",
            "DO 10 J = 1, N",
            "DO 10 I = 1, M",
            "10 A(I, J) = 0",
            "END",
        ],
        "",
        "n, m size B, a output A(M, N), b",
    );
    super::tests::check(
        &[
            "SUBROUTINE S(M, B)",
            "DIMENSION B(M)",
            "M = 2",
            "B = 0",
            "END",
        ],
        "",
        "m, b",
    );
}

#[test]
fn declarations_and_comments_say_what_is_set() {
    check(
        &[
            "SUBROUTINE S(N, Y, Z, K)",
            "DIMENSION Y(N), Z(*)",
            "INTENT(OUT) Y",
            "C \\param[out] Z",
            "C \\verbatim",
            "C   Z is REAL array, dimension (2*N)",
            "C \\endverbatim",
            "C   K  (output) INTEGER",
            "Y(1) = Z(1)",
            "Z(2) = 1",
            "IF (N .GT. 1) K = 1",
            "END",
        ],
        "",
        "n, y output Y(N), z output Z(2*N), k output",
    );
}

#[test]
fn room_to_work_in() {
    let lines = [
        "SUBROUTINE S(N, X, WORK, LWORK, IW, V)",
        "DIMENSION X(N), WORK(LWORK), IW(*), V(2)",
        "C   IW  (workspace) INTEGER array, dimension (3*N)",
        "X(1) = WORK(1) + IW(1) + V(1)",
        "WORK(2) = LWORK",
        "V(1) = 1",
        "END",
    ];
    let (iw, v) = ("iw workspace IW(3*N)", "v workspace V(2)");
    // A name is not enough where it is read.
    let expected = format!("n size X, x, work, lwork size WORK, {iw}, v");
    check(&lines, "", &expected);
    let expected = format!("n size X, x, work workspace WORK(LWORK), lwork, {iw}, {v}");
    check(&lines, "workspaces = ['work', 'v']", &expected);
    let expected =
        format!("n size X, x, work workspace WORK(8*N), lwork length WORK(8*N), {iw}, v");
    check(&lines, "workspaces = ['work(8*n)']", &expected);
    let unread = [
        "SUBROUTINE S(N, X, WORK)",
        "DIMENSION X(N), WORK(N)",
        "WORK = X",
        "X = WORK*WORK",
        "END",
    ];
    check(&unread, "", "n size X, x, work workspace WORK(N)");
    let open = [
        "SUBROUTINE S(N, X, WORK, LWORK)",
        "DIMENSION X(N), WORK(*)",
        "WORK(1) = LWORK",
        "END",
    ];
    check(
        &open,
        "workspaces = ['work(max(1, 2*n))']",
        "n size X, x, work workspace WORK(MAX(1, 2*N)), lwork length WORK(MAX(1, 2*N))",
    );
}

#[test]
fn what_says_how_it_went() {
    let lapack = [
        "SUBROUTINE S(N, INFO)",
        "C   INFO  (output) INTEGER",
        "C         = 0:  successful exit",
        "C         < 0:  an argument is wrong",
        "INFO = 0",
        "IF (N .LT. 0) INFO = -1",
        "END",
    ];
    check(&lapack, "", "n, info status wrong !=0");
    check(&lapack, "keep = ['info']", "n, info");
    check(
        &lapack,
        "errors = { info = '< 0' }",
        "n, info output wrong <0",
    );
    check(
        &lapack,
        "errors = { info = ['< 0', '== 7'] }",
        "n, info output wrong <0|==7",
    );
    let both = ["SUBROUTINE S(I, K)", "IF (I .EQ. 0) K = K + 1", "END"];
    check(&both, "errors = { k = '/= 0' }", "i, k wrong !=0");
}

#[test]
fn errors_say_what_is_wrong() {
    let source: String = [
        "SUBROUTINE SOLVE(N, COUNT, X, W, F)",
        "INTEGER COUNT",
        "DIMENSION X(N), W(*)",
        "EXTERNAL F",
        "X(1) = W(1) + COUNT",
        "CALL F(W)",
        "END",
    ]
    .map(line)
    .concat();
    for (settings, expected) in [
        (
            "keep = ['coun']",
            "SOLVE has no argument COUN; did you mean COUNT?",
        ),
        (
            "keep = ['q']",
            "SOLVE has no argument Q; it has N, COUNT, X, W, F",
        ),
        ("keep = ['f']", "F is a procedure"),
        ("workspaces = ['count']", "COUNT is not an array"),
        (
            "workspaces = ['w']",
            "it is not known how long W must be: say it, such as `w(2*n)`",
        ),
        (
            "workspaces = ['w(2*k)']",
            "the bounds 2*k of W: SOLVE has no INTEGER argument K",
        ),
        ("workspaces = ['w(2*)']", "the bounds 2* of W: "),
        ("workspaces = ['w(n, 2)']", "W has 1 dimensions, not 2"),
        (
            "workspaces = ['w(n']",
            "`w(n` is neither the name of an argument nor one with bounds",
        ),
        (
            "workspaces = ['w(n)']\nkeep = ['w']",
            "W is named for more than one purpose",
        ),
        (
            "outputs = ['count']",
            "COUNT is no output: nothing assigns it",
        ),
        ("shapes = ['n(2)']", "N is not an array"),
        ("shapes = ['w(f(2))']", "the bounds f(2) of W: "),
        ("errors = { x = '< 0' }", "X is not an INTEGER"),
        (
            "errors = { count = '< 0' }",
            "COUNT does not say how it went: nothing assigns it",
        ),
        (
            "errors = { n = [] }",
            "no value of N is an error: leave it out",
        ),
        (
            "errors = { inf = '< 0' }",
            "SOLVE has no argument INF; it has",
        ),
        ("errors = { n = 'bad' }", "nothing assigns it"),
        (
            "errors = { n = 'bad' }",
            "`bad` does not say which values of N are errors; `/= 0`, `< 0` or `== 3` does",
        ),
    ] {
        let errors = roles(&source, settings).unwrap_err().join("\n");
        assert!(errors.contains(expected), "{settings}: {errors}");
    }
    // All at once.
    let all = roles(&source, "keep = ['a', 'b']\nworkspaces = ['w']").unwrap_err();
    assert_eq!(all.len(), 3, "{all:?}");
}
