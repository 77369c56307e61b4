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
    let flows = Flows::new(&program);
    let full_assignments = FullAssignments::new(&program, &assigned, &flows);
    let entry_values = EntryValues::new(&program, &assigned, &flows);
    let mut builder = SignatureBuilder::new(
        &program.units[0],
        &table,
        &assigned,
        &intents,
        &full_assignments,
        &entry_values,
    );
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
                let view = &signature.views[&p];
                let dense = if view.dense { " dense" } else { "" };
                match view.rank {
                    2 => format!(" matrix{dense}"),
                    rank => format!(" array{rank}"),
                }
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
            Role::Leading(bounds) => format!(" leading {}", bounds.shown),
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
fn arrays_of_higher_rank_have_sizes() {
    let check = |declared: &str, settings: &str, expected: &str| {
        let head = "SUBROUTINE S(L, M, N, A, B)";
        let body = "A(1, 1, 1) = B(1, 1, 1) + L + M + N + A(1, 1, 1)";
        super::tests::check(&[head, declared, body, "END"], settings, expected);
    };
    check(
        "DIMENSION A(L, M, N), B(L, 0:M, *)",
        "",
        "l size A.1 B.1, m size A.2, n size A.3, a array3, b array3",
    );
    check(
        "DIMENSION A(2*L, M, *), B(3, 4, N)",
        "shapes = ['a(l, m, n)']",
        "l, m size A.2, n size A.3 B.3, a array3, b array3",
    );
    // Old programs declare arrays of any size like this.
    check(
        "DIMENSION A(1, 1, 1), B(L, M, 1)",
        "keep = ['l']",
        "l, m size B.2, n, a, b array3",
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
    // A loop that fills another array.
    check(
        &["DO 10 I = 1, N", "10 X(I) = 0", "Y(1) = Y(1) + X(1)"],
        "n size Y, x output X(N), y",
    );
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

    // Jumps: back to what comes before, out of the loop, and around the assignment.
    check(
        &[
            "DO 20 I = 1, N",
            "Z = X(I)",
            "10 Z = Z/2",
            "IF (Z .GT. 1) GO TO 10",
            "Y(I) = Z",
            "IF (Z .LT. 0) GO TO 20",
            "Y(I) = Y(I) + 1",
            "20 CONTINUE",
        ],
        output,
    );
    check(
        &[
            "DO 20 I = 1, N",
            "IF (X(I) .LT. 0) GO TO 20",
            "Y(I) = X(I)",
            "20 CONTINUE",
        ],
        given,
    );
    check(
        &[
            "DO 20 I = 1, N",
            "IF (X(I) .LT. 0) GO TO 30",
            "20 Y(I) = X(I)",
            "30 CONTINUE",
        ],
        given,
    );
    check(
        &[
            "DO I = 1, N",
            "Y(I) = X(I)",
            "IF (X(I) .GT. 0) CYCLE",
            "END DO",
        ],
        output,
    );
    check(
        &[
            "DO I = 1, N",
            "Y(I) = X(I)",
            "IF (X(I) .GT. 0) EXIT",
            "END DO",
        ],
        given,
    );
    check(
        &[
            "DO I = 1, N",
            "Y(I) = X(I)",
            "IF (X(I) .GT. 0) RETURN",
            "END DO",
        ],
        given,
    );

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
fn bounds_may_be_expressions() {
    let check = |bounds: &str, loop_: &str, expected: &str| {
        let declared = format!("DIMENSION X(N), Y({bounds})");
        let lines = [
            "SUBROUTINE S(N, X, Y)",
            &declared,
            loop_,
            "Y(I) = X(1)",
            "END DO",
            "END",
        ];
        super::tests::check(&lines, "", &format!("n size X, x, y{expected}"));
    };
    check("2*N", "DO I = 1, 2*N", " output Y(2*N)");
    check("0:N - 1", "DO I = 0, N-1", " output Y(0:N - 1)");
    check("N*(N + 1)", "DO I = 1, N*N + 1", "");
    check("N - 1", "DO I = 1, N", "");
    check("0:N", "DO I = 1, N", "");
    check("-1:1", "DO I = -1, 1", " output Y(-1:1)");
}

#[test]
fn arrays_of_a_few_elements() {
    let check = |lines: &[&str], expected: &str| {
        let head = ["SUBROUTINE S(X, Y)", "DIMENSION X(2), Y(0:1)"];
        super::tests::check(&[&head, lines, &["END"]].concat(), "", expected);
    };
    let (output, given) = ("x, y output Y(0:1)", "x, y");
    check(
        &["Y(0) = X(1)", "Y(1) = Y(0) + X(2)", "Y(0) = 2*Y(1)"],
        output,
    );
    check(
        &[
            "IF (X(1) .GT. 0) THEN",
            "Y(1) = 1",
            "Y(0) = 2",
            "ELSE",
            "Y(0) = 3",
            "Y(1) = 4",
            "END IF",
            "K = INT(X(1))",
            "Y(K) = 5",
        ],
        output,
    );
    check(&["Y(0) = X(1)"], given);
    check(&["Y(0) = Y(1)", "Y(1) = 0"], given);
    check(&["Y(0) = 0", "IF (X(1) .GT. 0) RETURN", "Y(1) = 0"], given);
    check(&["IF (X(1) .GT. 0) Y(0) = 0", "Y(1) = 0"], given);
    check(&["Y(0) = 0", "CALL F(Y)", "Y(1) = 0"], given);
    check(&["Y(0) = 0", "K = 1", "Y(K) = 0"], given);
    check(&["Y(0) = 0", "READ (5, *) Y", "Y(1) = 0"], given);
}

#[test]
fn what_is_called_may_set_an_array() {
    let check = |call: &str, inner: &[&str], expected: &str| {
        let head = ["SUBROUTINE S(N, X, Y)", "DIMENSION X(N), Y(N)", call, "END"];
        let lines = [&head, inner, &["END"]].concat();
        super::tests::check(&lines, "", expected);
    };
    let (output, given) = ("n size X, x, y output Y(N)", "n size X Y, x, y");
    let sets = ["SUBROUTINE T(M, A, B)", "DIMENSION A(M), B(M)", "B = A"];
    check("CALL T(N, X, Y)", &sets, output);
    // Fewer elements, twice the same array, one that is not reached, and one that is only added to.
    check("CALL T(N - 1, X, Y)", &sets, given);
    check("CALL T(N, Y, Y)", &sets, "n size X Y, x, y");
    check("CALL T(N, X, Y(1))", &sets, given);
    check("IF (X(1) .GT. 0) CALL T(N, X, Y)", &sets, given);
    let adds = ["SUBROUTINE T(M, A, B)", "DIMENSION A(M), B(M)", "B = A + B"];
    check("CALL T(N, X, Y)", &adds, given);
    let open = [
        "SUBROUTINE T(M, A, B)",
        "DIMENSION A(M), B(*)",
        "DO 10 I = 1, M",
        "10 B(I) = A(I)",
    ];
    check("CALL T(N, X, Y)", &open, given);
    let other = [
        "SUBROUTINE T(M, A, B)",
        "DIMENSION A(M), B(M)",
        "M = 2",
        "B = A",
    ];
    check("CALL T(N, X, Y)", &other, "n, x, y");
    let itself = [
        "SUBROUTINE T(M, A, B)",
        "DIMENSION A(M), B(M)",
        "CALL T(M, A, B)",
    ];
    check("CALL T(N, X, Y)", &itself, given);
}

#[test]
fn entry_points_are_on_their_own() {
    let lines = |first: &str, second: &str| {
        let text = [
            "SUBROUTINE S(N, Y)",
            "DIMENSION Y(N)",
            first,
            "RETURN",
            "ENTRY T(N, Y)",
            second,
            "END",
        ];
        text.map(str::to_owned)
    };
    let check = |first: &str, second: &str, expected: &str| {
        let lines = lines(first, second);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        super::tests::check(&lines, "", expected);
    };
    check("Y = 0", "Y(1) = Y(2)", "n, y output Y(N)");
    check("Y(1) = Y(2)", "Y = 0", "n size Y, y");
    // It goes on behind the other one.
    let through = [
        "SUBROUTINE S(N, Y)",
        "DIMENSION Y(N)",
        "K = 1",
        "ENTRY T(N, Y)",
        "Y = 0",
        "END",
    ];
    super::tests::check(&through, "", "n, y output Y(N)");
}

/// Ways to leave a number as it was, or to read it first.
#[test]
fn numbers_that_stay() {
    let check = |lines: &[&str], expected: &str| {
        let text = [&["SUBROUTINE S(A, B)"], lines, &["END"]].concat();
        super::tests::check(&text, "", expected);
    };
    let (output, given) = ("a, b output", "a, b");
    check(&["READ (5, *) B", "B = A"], output);
    check(&["READ (5, *, END = 10) B", "10 CONTINUE"], given);
    check(&["READ (5, *, ERR = 10) B", "10 CONTINUE"], given);
    check(&["READ (5, *, IOSTAT = I) B"], given);
    check(&["DO I = 1, INT(A)", "B = I", "END DO"], given);
    check(&["DO WHILE (A .GT. 0)", "B = A", "END DO"], given);
    check(
        &[
            "GO TO (10, 20), INT(A)",
            "RETURN",
            "10 B = 1",
            "RETURN",
            "20 B = 2",
        ],
        given,
    );
    check(
        &["IF (A) 10, 10, 20", "10 B = 1", "RETURN", "20 B = 2"],
        output,
    );
    check(&["F(X) = X + B", "A = F(A)", "B = 1"], given);
    check(&["F(X) = X + B", "B = 1", "A = F(A)"], output);
    check(
        &["CALL T(B, A)", "END", "SUBROUTINE T(X, Y)", "X = Y"],
        output,
    );
    check(
        &[
            "CALL T(B, A)",
            "END",
            "SUBROUTINE T(X, Y)",
            "IF (Y .GT. 0) X = Y",
        ],
        given,
    );
    check(
        &["CALL T(B, A)", "END", "SUBROUTINE T(X, Y)", "X = X + Y"],
        given,
    );
    check(
        &["CALL T(B, B)", "END", "SUBROUTINE T(X, Y)", "X = Y"],
        given,
    );
    check(
        &[
            "CALL T(A, *10)",
            "B = 1",
            "10 RETURN",
            "END",
            "SUBROUTINE T(X, *)",
            "IF (X .GT. 0) RETURN 1",
        ],
        given,
    );
    check(
        &["A = T(B)", "B = 1", "END", "FUNCTION T(X)", "T = X"],
        "a output, b",
    );
    check(
        &["A = T(B)", "END", "FUNCTION T(X)", "T = 1", "X = 2"],
        "a output, b output",
    );
    check(
        &[
            "IF (A .GT. 0 .AND. T(B) .GT. 0) A = 1",
            "END",
            "FUNCTION T(X)",
            "T = 1",
            "X = 2",
        ],
        given,
    );

    // A part of a text.
    let text = |line: &str, expected: &str| {
        let lines = ["SUBROUTINE S(B)", "CHARACTER*8 B", line, "END"];
        super::tests::check(&lines, "", expected);
    };
    text("B = 'X'", "b output");
    text("B(1:3) = 'X'", "b");
    text("B(2:) = B(:7)", "b");
    text("WRITE (B, '(I8)') 5", "b output");
}

#[test]
fn leading_dimensions_of_what_is_allocated() {
    let check = |declared: &str, settings: &str, expected: &str| {
        let head = "SUBROUTINE S(M, N, A, B, LDB, C)";
        let lines = [
            head,
            declared,
            "B(1, 1) = A(1, 1) + C(1, 1) + M + N + LDB",
            "END",
        ];
        super::tests::check(&lines, settings, expected);
    };
    let declared = "DIMENSION A(M, N), B(LDB, *), C(3, 3)";
    check(
        declared,
        "outputs = ['b(m, n)']",
        "m size A.rows, n size A.columns, a matrix dense, b output B(M, N), ldb leading B(M, N), c matrix dense",
    );
    check(
        declared,
        "outputs = ['b(ldb, n)']",
        "m size A.rows, n size A.columns, a matrix dense, b output B(LDB, N), ldb, c matrix dense",
    );
    check(
        declared,
        "outputs = ['b(m, n)']\nkeep = ['ldb']",
        "m size A.rows, n size A.columns, a matrix dense, b output B(M, N), ldb, c matrix dense",
    );
    // It is that of another one, too.
    check(
        "DIMENSION A(M, N), B(LDB, *), C(LDB, *)",
        "outputs = ['b(m, n)']",
        "m size A.rows, n size A.columns, a matrix dense, b output B(M, N), ldb size C.column, c matrix",
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
            "IF (N .GT. 1) Z(2) = 1",
            "Y(1) = Z(1)",
            "IF (N .GT. 1) K = 1",
            "END",
        ],
        "",
        "n, y output Y(N), z, k output",
    );
}

/// What the code reads before it sets it is neither an output nor a work array, whatever a comment says.
#[test]
fn comments_that_the_code_contradicts() {
    let check = |first: &str, used: &[&str], expected: &str| {
        let head = [
            "SUBROUTINE S(N, Y, K, W)",
            "DIMENSION Y(N), W(N)",
            "C \\param[out] Y",
            "C \\verbatim",
            "C   Y is REAL array, dimension (N)",
            "C \\endverbatim",
            "C   K  (output) INTEGER",
            "C   W  (workspace) REAL array, dimension (N)",
            first,
        ];
        let rest = ["Y(2) = 1", "K = 3", "W(1) = 2", "END"];
        let callee = [
            "SUBROUTINE T(N, A, B)",
            "DIMENSION A(N)",
            "IF (N .GT. 3) A(1) = 3",
            "IF (N .LT. 4) B = B + A(2)",
            "END",
            "SUBROUTINE U(MODE, A)",
            "DIMENSION A(2)",
            "IF (MODE .EQ. 2) GO TO 10",
            "A(1) = 1",
            "10 A(2) = A(1)",
            "END",
        ];
        let lines = [&head, used, &rest, &callee].concat();
        super::tests::check(&lines, "", expected);
    };
    let all = "n, y output Y(N), k output, w workspace W(N)";
    check("", &[], all);
    // On some path.
    check(
        "",
        &["IF (N .EQ. 3) Y(1) = Y(2)"],
        "n size Y, y, k output, w workspace W(N)",
    );
    check(
        "",
        &["IF (N .EQ. 3) W(1) = K"],
        "n, y output Y(N), k, w workspace W(N)",
    );
    check(
        "",
        &["IF (W(1) .GT. 0) Y(1) = 1"],
        "n size W, y output Y(N), k output, w",
    );
    check(
        "",
        &["CALL T(N, W(2), Z)"],
        "n size W, y output Y(N), k output, w",
    );
    check("", &["IF (N .GT. 4) Y(1) = F(W)"], all);
    // Once a loop sets elements, others may be read.
    check(
        "",
        &["DO 10 I = 1, N - 1", "10 W(I) = I", "Y(1) = W(N)"],
        all,
    );
    check(
        "",
        &["DO 10 I = 1, N - 1", "Y(1) = W(I)", "10 W(I) = I"],
        "n size W, y output Y(N), k output, w",
    );
    // The same condition decides whether elements are set and whether they are read.
    let twice = [
        "IF (N .GT. 7) W(1) = 3",
        "IF (N .LE. 7) GO TO 20",
        "Y(1) = W(1)",
        "20 CONTINUE",
    ];
    check("", &twice, all);
    // What depends on a constant in the call.
    check("", &["MODE = 1", "CALL U(MODE, W(2))"], all);
    check(
        "",
        &["MODE = 2", "CALL U(MODE, W(2))"],
        "n size W, y output Y(N), k output, w",
    );
    // A closure may set what it gets.
    check("EXTERNAL G", &["CALL G(W)", "Y(1) = W(1)"], all);
}

/// Lists of arguments, in several styles, as far as the code agrees.
#[test]
fn lists_say_what_is_set() {
    let check = |used: &[&str], expected: &str| {
        let head = [
            "SUBROUTINE S(M, X, K, Z, WRK, LWRK, IER)",
            "DIMENSION X(M), Z(*), WRK(LWRK)",
            "C  input parameters:",
            "C   x     : real array, length m.",
            "C   k     : integer, the degree.",
            "C   wrk   : real array of dimension lwrk. used as workspace.",
            "C   lwrk  : integer, specifying the dimension of wrk.",
            "C           lwrk >= m*(k+1)",
            "C  output parameters:",
            "C   z     : real array of dimension (m*k).",
            "C   ier   : integer error flag",
            "C    ier=0 : normal return",
            "C    ier=10: invalid input data",
        ];
        let rest = [
            "IER = 10",
            "IF (LWRK .LT. M*(K + 1)) RETURN",
            "IER = 0",
            "WRK(1) = X(1)",
            "Z(K) = WRK(1)",
            "END",
        ];
        super::tests::check(&[&head, used, &rest].concat(), "", expected);
    };
    check(
        &[],
        "m size X, x, k, z output Z(M*K), wrk workspace WRK(M*(K + 1)), lwrk length WRK(M*(K + 1)), ier status wrong !=0",
    );
    check(
        &["IF (K .EQ. 1) Z(1) = WRK(1)"],
        "m size X, x, k, z output Z(M*K), wrk, lwrk size WRK, ier status wrong !=0",
    );
    // It is not always set.
    check(
        &["IF (IER .EQ. 7) RETURN"],
        "m size X, x, k, z output Z(M*K), wrk workspace WRK(M*(K + 1)), lwrk length WRK(M*(K + 1)), ier",
    );
}

#[test]
fn room_to_work_in() {
    let lines = [
        "SUBROUTINE S(N, X, WORK, LWORK, IW, V)",
        "DIMENSION X(N), WORK(LWORK), IW(*), V(2)",
        "C   IW  (workspace) INTEGER array, dimension (3*N)",
        "IW(1) = N",
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
fn room_that_is_divided() {
    let check = |calls: &[&str], inner: &[&str], expected: &str| {
        let head = ["SUBROUTINE S(N, X, W)", "DIMENSION X(N), W(2*N)"];
        let lines = [&head, calls, &["END"], inner, &["END"]].concat();
        super::tests::check(&lines, "", expected);
    };
    let (allocated, given) = ("n size X, x, w workspace W(2*N)", "n size X, x, w");
    let call = ["CALL T(N, X, W, W(N + 1))"];
    let head = ["SUBROUTINE T(M, X, A, B)", "DIMENSION X(M), A(M), B(M)"];
    let inner = |body: &[&'static str]| [&head, body].concat();
    let both = inner(&[
        "IF (M .LT. 2) RETURN",
        "DO 10 I = 1, M",
        "A(I) = X(I)",
        "10 B(I) = A(I)",
        "X(1) = B(2)",
    ]);
    check(&call, &both, allocated);
    // Through one more level, in any number of calls.
    let further = [
        &inner(&[
            "IF (X(1) .GT. 0) CALL U(M, X, B, A)",
            "CALL U(M, X, A, B)",
            "END",
        ])[..],
        &[
            "SUBROUTINE U(M, X, A, B)",
            head[1],
            "A = X",
            "B = A",
            "X = B",
        ],
    ]
    .concat();
    check(&call, &further, allocated);
    check(
        &["IF (X(1) .GT. 0) CALL T(N, X, W, W(N + 1))"],
        &both,
        allocated,
    );
    // One piece is read first, in part only set, or only added to.
    for body in [
        &["X(1) = B(1)", "A = X", "B = A"][..],
        &["A = X", "B(1) = A(1)", "X = B"],
        &["A = X", "B = B + A"],
        &["A = X", "IF (X(1) .GT. 0) B = A", "X = B"],
        &["A = X", "CALL OTHER(B)"],
        &["M = 2", "A = X", "B = A"],
    ] {
        check(
            &call,
            &inner(body),
            if body[0] == "M = 2" { "n, x, w" } else { given },
        );
    }
    // What the first call has left there is read by the second, or by the caller.
    check(&["CALL T(N, X, W, W(N + 1))", "X(1) = W(1)"], &both, given);
    check(&["CALL T(N, X, W, W(INT(W(1))))"], &both, given);
    check(&["CALL T(N, W, W, W(N + 1))"], &both, given);
    // W alone is no name of a work array.
    check(&["CALL T(N, X, X, W)"], &both, given);
    let results = [
        "SUBROUTINE S(N, X, Y)",
        "DIMENSION X(N), Y(2*N)",
        "CALL T(N, X, Y, Y(N + 1))",
        "END",
    ];
    let lines = [&results, &both[..], &["END"]].concat();
    super::tests::check(&lines, "", "n size X, x, y");
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
