use super::*;
use farfel_lang::print::print_program;

const SOURCE: &str = "\
      SUBROUTINE MODEL(N, X, P, Y, F, C, TEXT)
      INTEGER N
      DOUBLE PRECISION X(N), P(*), Y, F(N,N,2,2)
      COMPLEX C
      CHARACTER*(*) TEXT
      Y = SUM(X)
      END
      FUNCTION AREA(F, A)
      AREA = F(A)
      END
      SUBROUTINE ESCAPES(X, *)
      END
      SUBROUTINE POINTS(X)
      REAL X(3), A(N)
      X = 0
      RETURN
C     The sum of A.
      ENTRY POINT(N, A, S)
      S = SUM(A)
      END
      SUBROUTINE SHAPED(X)
      REAL X(:)
      END
      PROGRAM MAIN
      END
";

/// Returns the text added for an entry of the table, or what is wrong with the entry.
fn derived(entry: &str, all: bool) -> Result<String, String> {
    let table: toml::Table = toml::from_str(entry).unwrap();
    let mut derived = Vec::new();
    for (name, value) in table {
        let settings = value
            .try_into::<Settings>()
            .map_err(|e| e.message().to_owned())?;
        derived.push(settings.of(&name)?);
    }
    let mut sources = Sources::new();
    let file = sources.add("model.f", SOURCE);
    let mut parsed = parse_with(&mut sources, file, &ReadOptions::default(), &mut NoIncludes);
    let count = parsed.program.units.len();
    add(
        &mut parsed.program,
        &[],
        &derived,
        all,
        DefaultSizes::default(),
        &mut sources,
    )
    .map_err(|e| e.to_string())?;
    parsed.program.units.drain(..count);
    Ok(print_program(&parsed.program, &Options::default()))
}

#[test]
fn errors_say_what_is_wrong() {
    for (entry, expected) in [
        ("a = { by = 'x' }", "it needs one of `gradient`, `jacobian`"),
        (
            "a = { jvp = 'model', vjp = 'model', by = 'x' }",
            "it needs one of",
        ),
        ("a = { jvp = 'model' }", "missing field `by`"),
        (
            "a = { jvp = 'model', by = 'x', off = 'y' }",
            "unknown field `off`",
        ),
        (
            "a = { jvp = 'model', of = 'y', by = [] }",
            "must each name a variable",
        ),
        (
            "'a-b' = { jvp = 'model', of = 'y', by = 'x' }",
            "not a name that a subprogram can have",
        ),
        (
            "a = { jvp = 'model', of = 'y', by = 'x(' }",
            "`x(` is neither the name of an argument nor",
        ),
        (
            "a = { jvp = 'model', of = 'y', by = 'x(n) end' }",
            "is neither the name of",
        ),
        (
            "a = { jvp = 'pont', of = 'x', by = 'x' }",
            "setting `derive.a`: there is no subprogram PONT; did you mean POINT?",
        ),
        (
            "f = { jvp = 'model', of = 'y', by = 'x' }",
            "F is the name of an argument of MODEL, too",
        ),
        (
            "a = { jvp = 'modl', of = 'y', by = 'x' }",
            "setting `derive.a`: there is no subprogram MODL; did you mean MODEL?",
        ),
        (
            "model = { jvp = 'model', of = 'y', by = 'x' }",
            "there is a subprogram MODEL already",
        ),
        (
            "a = { jvp = 'main', of = 'y', by = 'x' }",
            "MAIN is not a subprogram",
        ),
        (
            "a = { jvp = 'model', by = 'x' }",
            "MODEL is a subroutine: `of` must say which of its arguments N, X, P, Y, F, C, TEXT is meant",
        ),
        (
            "a = { jvp = 'model', of = 'y', by = 'z' }",
            "`by` names Z, and MODEL has the arguments N, X",
        ),
        (
            "a = { jvp = 'model', of = 'y', by = 'n' }",
            "N is neither REAL, DOUBLE PRECISION nor COMPLEX",
        ),
        (
            "a = { jvp = 'model', of = 'y', by = ['x', 'X'] }",
            "`by` names X twice",
        ),
        (
            "a = { jvp = 'model', of = 'y', by = 'p' }",
            "P is declared without its last bound: say what it is, such as `p(n)`",
        ),
        (
            "a = { jvp = 'model', of = 'y', by = 'p(k)' }",
            "the bounds k of P: MODEL has no K",
        ),
        (
            "a = { jvp = 'model', of = 'y', by = 'p(n+)' }",
            "the bounds n+ of P: ",
        ),
        (
            "a = { jvp = 'model', of = 'y', by = 'p(*)' }",
            "the bounds * of P: they must have an end",
        ),
        (
            "a = { jvp = 'model', of = 'y', by = 'p(:)' }",
            "the bounds : of P: they must have an end",
        ),
        (
            "a = { jvp = 'model', of = 'y(2)', by = 'x' }",
            "Y is not an array",
        ),
        (
            "a = { jvp = 'model', of = 'x(n)', by = 'x(2)' }",
            "X has the bounds n and 2",
        ),
        (
            "a = { jvp = 'model', of = 'f', by = 'x', reverse = true }",
            "`reverse` is for a Jacobian",
        ),
        (
            "a = { gradient = 'model', of = 'f', by = 'x' }",
            "it is of one number",
        ),
        (
            "a = { hessian = 'model', of = 'y', by = ['x', 'p(n)'] }",
            "a Hessian is by one argument",
        ),
        (
            "a = { jacobian = 'model', of = 'f', by = 'f' }",
            "would have 8 dimensions, and 7 are the most",
        ),
        (
            "a = { jacobian = 'model', of = 'y', by = 'c' }",
            "there is a COMPLEX one",
        ),
        (
            "a = { gradient = 'shaped', of = 'x', by = 'x' }",
            "the argument X is an array of assumed shape (model.f:21)",
        ),
    ] {
        let message = derived(entry, true).expect_err(entry);
        assert!(message.contains(expected), "{entry}: {message}");
    }
}

#[test]
fn all_errors_are_said() {
    let message = derived(
        "a = { jvp = 'model', of = 'z', by = 'n' }\nb = { jvp = 'none', by = 'x' }",
        true,
    )
    .unwrap_err();
    assert_eq!(message.lines().count(), 3, "{message}");
}

/// A single file of a project need not contain the subprograms in the project's settings.
#[test]
fn single_files_have_what_they_have() {
    let entry = "a = { jvp = 'elsewhere', by = 'x' }";
    assert_eq!(derived(entry, false).unwrap(), "");
}

#[test]
fn the_subprogram_has_the_declarations_of_the_other() {
    let entry = "a = { vjp = 'model', of = ['y', 'f'], by = ['x', 'p(0:2*n)'] }";
    let expected = "\
C The gradient by X and P of the sum of Y_COTANGENT and F_COTANGENT times Y and F in MODEL: X_COTANGENT and P_COTANGENT.
      SUBROUTINE A(N, X, P, Y, F, C, TEXT, Y_COTANGENT, F_COTANGENT,
     +    X_COTANGENT, P_COTANGENT)
      INTEGER N
      DOUBLE PRECISION X(N), P(0:2*N), Y, F(N, N, 2, 2)
      COMPLEX C
      CHARACTER*(*) TEXT
      DOUBLE PRECISION Y_COTANGENT, F_COTANGENT(N, N, 2, 2),
     +    X_COTANGENT(N), P_COTANGENT(0:2*N)
      ADR(COTANGENT(Y) = Y_COTANGENT, COTANGENT(F) = F_COTANGENT)
        CALL MODEL(N, X, P, Y, F, C, TEXT)
      END ADR(X_COTANGENT = COTANGENT(X), P_COTANGENT = COTANGENT(P))
      END
";
    assert_eq!(derived(entry, true).unwrap(), expected);
}

/// An ENTRY point has its own arguments.
#[test]
fn entry_points_are_subprograms() {
    let text = derived("slope = { gradient = 'point', of = 's', by = 'a' }", true).unwrap();
    let expected = "\
C The gradient of S in POINT by A: A_GRADIENT is the derivative by each element.
C
C     The sum of A.
      SUBROUTINE SLOPE(N, A, S, A_GRADIENT)
      REAL A(N), A_GRADIENT(N)
      ADR(S)
        CALL POINT(N, A, S)
      END ADR(A_GRADIENT = COTANGENT(A))
      END
";
    assert_eq!(text, expected);
}

/// The derivative returns as the subprogram does, and names of results do not depend on which are arguments, too.
#[test]
fn alternate_returns_stay() {
    let text = derived("a = { vjp = 'escapes', of = 'x', by = 'x' }", true).unwrap();
    let expected = "\
C The gradient by X of the sum of X_RESULT_COTANGENT times X in ESCAPES: X_COTANGENT.
      SUBROUTINE A(X, *, X_RESULT_COTANGENT, X_COTANGENT)
      INTEGER IRETURN
      REAL X_RESULT_COTANGENT, X_COTANGENT
      ADR(COTANGENT(X) = X_RESULT_COTANGENT)
        IRETURN = 0
        CALL ESCAPES(X, *1)
        GOTO 2
    1   IRETURN = 1
    2   CONTINUE
      END ADR(X_COTANGENT = COTANGENT(X))
      RETURN IRETURN
      END
";
    assert_eq!(text, expected);
}

/// The new subprogram and the other one have names, too.
#[test]
fn derivatives_have_names_of_their_own() {
    let text = derived(
        "x_gradient = { gradient = 'model', of = 'y', by = 'x' }",
        true,
    )
    .unwrap();
    assert!(
        text.contains("SUBROUTINE X_GRADIENT(N, X, P, Y, F, C, TEXT, X_GRADIENT1)"),
        "{text}"
    );
}
