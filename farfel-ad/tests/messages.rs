//! Calls of MPI in AD blocks: what they become, and what has no derivative. `tests/tests/mpi.rs` runs them.

use crate::support::expand;
use insta::assert_snapshot;

/// The constants of MPI that the tests use.
const CONSTANTS: &str = "
      INTEGER MPI_REAL, MPI_REAL8, MPI_SUM, MPI_MAXLOC, MPI_PROD, COMM
      INTEGER MPI_INTEGER, MPI_ANY_SOURCE
      PARAMETER (MPI_INTEGER = 7, MPI_ANY_SOURCE = -1)
      PARAMETER (MPI_REAL = 13, MPI_REAL8 = 15, MPI_SUM = 3)
      PARAMETER (MPI_MAXLOC = 11, MPI_PROD = 4)
      INTEGER MPI_STATUS_IGNORE(5), MPI_IN_PLACE, IE
      COMMON /IGNORED/ MPI_STATUS_IGNORE
      COMMON /IN_PLACE/ MPI_IN_PLACE";

/// Expands a program with a block of some statements about REALs X and Y.
fn block(mode: &str, statements: &str) -> Result<String, String> {
    let (open, close) = match mode {
        "ADF" => ("ADF(X)", "END ADF(D = TANGENT(Y))"),
        _ => ("ADR(COTANGENT(Y) = 1)", "END ADR(D = COTANGENT(X))"),
    };
    expand(&format!(
        "      SUBROUTINE MAIN(X, Y, D, COMM)
      REAL X, Y, D, U(9)
      DOUBLE PRECISION W
      INTEGER K, REQ(4), ST(5){CONSTANTS}
      EXTERNAL MPI_SEND, MPI_RECV, MPI_ALLREDUCE, MPI_BCAST, MPI_TEST
      EXTERNAL MPI_IRECV, MPI_ISEND, MPI_WAIT, MPI_WAITALL, MPI_GATHER
      EXTERNAL MPI_ALLTOALL
      {open}
{}
      {close}
      END
",
        statements.trim_matches('\n')
    ))
}

/// The lines of generated code that call the run-time library.
fn calls(mode: &str, statements: &str) -> String {
    let text = block(mode, statements).unwrap();
    let joined = text
        .replace("\n     +      ", " ")
        .replace("\n     +    ", " ");
    let lines = joined.lines().map(str::trim);
    let lines = lines.filter(|l| l.contains("CALL FARFEL_MPI"));
    lines.collect::<Vec<_>>().join("\n")
}

fn errors(statements: &str) -> String {
    let forward = block("ADF", statements).unwrap_err();
    assert_eq!(block("ADR", statements).unwrap_err(), forward);
    forward
}

#[test]
fn a_reduction() {
    let sum = "
      CALL MPI_ALLREDUCE(X, Y, 1, MPI_REAL, MPI_SUM, COMM, IE)
";
    assert_snapshot!(calls("ADF", sum), @"CALL FARFEL_MPI_ALLREDUCE_SUM_D(X, X_G1, Y, Y_G1, 1, (MPI_REAL), (MPI_SUM), COMM, IE, FARFEL_CHANNEL, FARFEL_CHANNEL_G1_1)");
    assert_snapshot!(calls("ADR", sum), @r"
    CALL FARFEL_MPI_ALLREDUCE_SUM(X, Y, 1, (MPI_REAL), (MPI_SUM), COMM, IE, FARFEL_CHANNEL)
    CALL FARFEL_MPI_ALLREDUCE_SUM_B(X, X_G1, Y, Y_G1, 1, (MPI_REAL), (MPI_SUM), COMM, IE, FARFEL_CHANNEL, FARFEL_CHANNEL_G1_1)
    ");
}

#[test]
fn a_message_and_its_request() {
    let halo = "
      U(1) = X
      IF (K .EQ. 0) CALL MPI_IRECV(U(3), 1, MPI_REAL, K, 1, COMM,
     +  REQ, IE)
      CALL MPI_ISEND(U, 1, MPI_REAL, K, 1, COMM, REQ(2), IE)
      CALL MPI_WAITALL(2, REQ, MPI_STATUS_IGNORE, IE)
      Y = U(3)
";
    assert_snapshot!(calls("ADF", halo), @r"
    CALL FARFEL_MPI_BASE(1, U)
    CALL FARFEL_MPI_IRECV_D(U(3), U_G1(3), 1, (MPI_REAL), K, 1, COMM, REQ, IE, FARFEL_CHANNEL, FARFEL_CHANNEL_G1_1)
    CALL FARFEL_MPI_ISEND_D(U, U_G1, 1, (MPI_REAL), K, 1, COMM, REQ(2), IE, FARFEL_CHANNEL, FARFEL_CHANNEL_G1_1)
    CALL FARFEL_MPI_WAITALL_D(2, REQ, 0, IE, 0, FARFEL_CHANNEL, FARFEL_CHANNEL_G1_1)
    CALL FARFEL_MPI_WAITED_D(1, U, U_G1, FARFEL_CHANNEL, FARFEL_CHANNEL_G1_1)
    ");
    assert_snapshot!(calls("ADR", halo), @r"
    CALL FARFEL_MPI_BASE(1, U)
    CALL FARFEL_MPI_IRECV(U(3), 1, (MPI_REAL), K, 1, COMM, REQ, IE, FARFEL_CHANNEL)
    CALL FARFEL_MPI_ISEND(U, 1, (MPI_REAL), K, 1, COMM, REQ(2), IE, FARFEL_CHANNEL)
    CALL FARFEL_MPI_WAITALL(2, REQ, 0, IE, 0, FARFEL_CHANNEL)
    CALL FARFEL_MPI_WAITED(1, U, FARFEL_CHANNEL)
    CALL FARFEL_MPI_WAITED_B(1, U, U_G1, FARFEL_CHANNEL, FARFEL_CHANNEL_G1_1)
    CALL FARFEL_MPI_WAITALL_B(2, REQ, 0, IE, 0, FARFEL_CHANNEL, FARFEL_CHANNEL_G1_1)
    CALL FARFEL_MPI_ISEND_B(U, U_G1, 1, (MPI_REAL), K, 1, COMM, REQ(2), IE, FARFEL_CHANNEL, FARFEL_CHANNEL_G1_1)
    IF (K .EQ. 0) CALL FARFEL_MPI_IRECV_B(U(3),U_G1(3),1,(MPI_REAL),K, 1,COMM,REQ,IE,FARFEL_CHANNEL,FARFEL_CHANNEL_G1_1)
    ");
}

#[test]
fn integers_stay() {
    assert_snapshot!(calls("ADR", "
      CALL MPI_BCAST(K, 1, MPI_INTEGER, 0, COMM, IE)
      CALL MPI_BCAST(X, 1, MPI_REAL, 0, COMM, IE)
      Y = X*K
"), @r"
    CALL FARFEL_MPI_BCAST(X,1,(MPI_REAL),0,COMM,IE,FARFEL_CHANNEL)
    CALL FARFEL_MPI_BCAST_B(X, X_G1, 1, (MPI_REAL), 0, COMM, IE, FARFEL_CHANNEL, FARFEL_CHANNEL_G1_1)
    ");
}

#[test]
fn datatypes_and_operations() {
    assert_snapshot!(errors("
      CALL MPI_BCAST(X, 1, MPI_REAL8, 0, COMM, IE)
      CALL MPI_ALLREDUCE(X, Y, 1, MPI_REAL, MPI_MAXLOC, COMM, IE)
"), @r"
    F0326 17:28 the datatype of REAL numbers is MPI_REAL8 here
    F0326 18:45 MPI_ALLREDUCE of real numbers with MPI_MAXLOC has no derivative
    ");
}

#[test]
fn calls_without_derivatives() {
    assert_snapshot!(errors("
      CALL MPI_ALLTOALL(X, 1, MPI_REAL, Y, 1, MPI_REAL, COMM, IE)
      CALL MPI_TEST(REQ, K, ST, IE)
      CALL MPI_GATHER(MPI_IN_PLACE, 1, MPI_REAL, U, 1, MPI_REAL, 0,
     +  COMM, IE)
"), @r"
    F0326 17:25 MPI_ALLTOALL of real numbers has no derivative
    F0326 18:21 MPI_TEST has no derivative, and may be about a message that has one
    F0326 19:23 MPI_GATHER with MPI_IN_PLACE has no derivative
    ");
}

/// The run before the forward sweep sends the same messages.
#[test]
fn integers_from_any_source() {
    let message = "
      CALL MPI_RECV(K, 1, MPI_INTEGER, MPI_ANY_SOURCE, 1, COMM, ST, IE)
      Y = X*K
";
    assert!(block("ADF", message).is_ok());
    assert_snapshot!(block("ADR", message).unwrap_err(), @"F0326 17:40 MPI_RECV of INTEGERs may receive that of another run: an ADR block runs twice");
}

#[test]
fn wrong_calls() {
    assert_snapshot!(errors("
      CALL MPI_SEND(X, 1, MPI_REAL, 1, COMM, IE)
      CALL MPI_GATHER(X, 1, MPI_REAL, K, 1, MPI_REAL, 0, COMM, IE)
      CALL MPI_RECV(2*X, 1, MPI_REAL, 1, 1, COMM, ST, IE)
      Y = X
"), @r"
    F0326 17:7 MPI_SEND has 6 arguments here, and 7 in the Fortran binding of MPI
    F0326 18:39 one buffer of MPI_GATHER has real numbers, and this one has not
    F0326 19:21 MPI_RECV receives into an expression
    ");
}

#[test]
fn requests_that_are_completed_elsewhere() {
    assert_snapshot!(errors("
      CALL MPI_IRECV(U, 1, MPI_REAL, 0, 1, COMM, REQ, IE)
      CALL MPI_WAIT(K, ST, IE)
      Y = X*U(1)
"), @"F0326 17:7 the request REQ is not completed in this subprogram, or in one that knows the request and the buffer");
}

/// The variable of the buffer is named where the request is completed.
#[test]
fn requests_of_other_subprograms() {
    let text = |wait: &str| {
        format!(
            "      SUBROUTINE MAIN(X, D)
      REAL X, Y, D
      ADR(COTANGENT(Y) = 1)
      CALL HALO(X, Y)
      END ADR(D = COTANGENT(X))
      END
      SUBROUTINE HALO(X, Y)
      REAL X, Y, U(9)
      INTEGER REQ(2)
      U(1) = X
      CALL BEGINS(U(2), REQ)
      CALL ENDS({wait})
      Y = U(2)
      END
      SUBROUTINE BEGINS(V, R)
      REAL V
      INTEGER R{CONSTANTS}
      EXTERNAL MPI_IRECV
      CALL MPI_IRECV(V, 1, MPI_REAL, 0, 1, COMM, R, IE)
      END
      SUBROUTINE ENDS(R)
      INTEGER R, ST(5), IE
      EXTERNAL MPI_WAIT
      CALL MPI_WAIT(R, ST, IE)
      END
"
        )
    };
    let expanded = expand(&text("REQ")).unwrap();
    for call in [
        "CALL FARFEL_MPI_BASE(1, U)",
        "CALL FARFEL_MPI_BASE(-1, V)",
        "CALL FARFEL_MPI_WAITED_B(1, U, U_G1,",
    ] {
        assert!(expanded.contains(call), "{expanded}");
    }
    assert_snapshot!(expand(&text("K")).unwrap_err(), @"F0326 27:7 the request R is not completed in this subprogram, or in one that knows the request and the buffer");
}

/// Several directions would be several messages, also of subprograms.
#[test]
fn directions() {
    let text = |block: &str| {
        format!(
            "      SUBROUTINE MAIN(X, D, COMM)
      REAL X(2), Y(2), D(2){CONSTANTS}
      EXTERNAL MPI_ALLREDUCE, MPI_BCAST
{block}
      END
      SUBROUTINE SUMS(X, Y)
      REAL X(2), Y(2), Z{CONSTANTS}
      EXTERNAL MPI_ALLREDUCE
      Z = X(1)*X(2)
      CALL MPI_ALLREDUCE(Z, Y, 1, MPI_REAL, MPI_SUM, COMM, IE)
      END
"
        )
    };
    let forward = |calls: &str| {
        expand(&text(&format!(
            "      ADF(DIRECTIONS = 2, (TANGENT(X(K), K) = 1, K = 1, 2))
{calls}
      END ADF((D(K) = TANGENT(Y(1), K), K = 1, 2))"
        )))
    };
    let reverse = |calls: &str| {
        expand(&text(&format!(
            "      ADR(DIRECTIONS = 2, (COTANGENT(Y(K), K) = 1, K = 1, 2))
{calls}
      END ADR((D(K) = COTANGENT(X(1), K), K = 1, 2))"
        )))
    };
    let sum = "      CALL MPI_ALLREDUCE(X, Y, 1, MPI_REAL, MPI_SUM, COMM, IE)";
    assert_snapshot!(forward(sum).unwrap_err(), @"F0322 13:7 messages have derivatives in one direction");
    assert_snapshot!(reverse(sum).unwrap_err(), @"F0322 13:7 messages have derivatives in one direction");
    let below = "      CALL SUMS(X, Y)";
    assert_snapshot!(forward(below).unwrap_err(), @"F0322 28:7 messages have derivatives in one direction");
    assert_snapshot!(reverse(below).unwrap_err(), @"F0322 28:7 messages have derivatives in one direction");
    let others = "      CALL MPI_BCAST(K, 1, MPI_INTEGER, 0, COMM, IE)
      Y(1) = K*X(1)
      Y(2) = X(2)";
    assert!(forward(others).unwrap().contains("CALL MPI_BCAST"));
    assert!(reverse(others).unwrap().contains("CALL MPI_BCAST"));
}

const AGAIN: &str = "iterations of this loop cannot be carried out again: they call a procedure \
                     whose text is not known, exchange messages, read, or allocate";

#[test]
fn loops_that_would_run_twice() {
    for directive in ["checkpoint(3)", "independent"] {
        let messages = format!(
            "
      Y = X
!farfel: {directive}
      DO K = 1, 9
        CALL MPI_ALLREDUCE(Y, U, 1, MPI_REAL, MPI_SUM, COMM, IE)
        Y = U(1)*Y
      END DO
"
        );
        let refused = block("ADR", &messages).unwrap_err();
        assert!(
            refused.starts_with(&format!("F0319 18:1 {AGAIN}\n")),
            "{refused}"
        );
    }
}

/// Nor are loops whose subprograms exchange messages, real numbers or not.
#[test]
fn loops_with_messages_of_subprograms() {
    for call in [
        "CALL MPI_ALLREDUCE(Y, U, 1, MPI_REAL, MPI_SUM, COMM, IE)",
        "CALL MPI_BCAST(K, 1, MPI_INTEGER, 0, COMM, IE)",
        "CALL MPI_BARRIER(COMM, IE)",
    ] {
        let text = format!(
            "      SUBROUTINE MAIN(X, D)
      REAL X, Y, D
      INTEGER K
      ADR(COTANGENT(Y) = 1)
      Y = X
!farfel: checkpoint(3)
      DO K = 1, 9
        CALL OUTER(Y)
      END DO
      END ADR(D = COTANGENT(X))
      END
      SUBROUTINE OUTER(Y)
      REAL Y
      CALL SUMS(Y)
      Y = SIN(Y)
      END
      SUBROUTINE SUMS(Y)
      REAL Y, U{CONSTANTS}
      EXTERNAL MPI_ALLREDUCE, MPI_BCAST, MPI_BARRIER
      INTEGER K
      U = 2
      {call}
      Y = U*Y
      END
"
        );
        assert_eq!(expand(&text).unwrap_err(), format!("F0319 6:1 {AGAIN}\n"));
    }
}

/// A subprogram whose calls are to be carried out again exchanges no messages either.
#[test]
fn subprograms_that_would_run_twice() {
    let text = format!(
        "      SUBROUTINE MAIN(X, D)
      REAL X, Y, D
      ADR(COTANGENT(Y) = 1)
      Y = X
      CALL OUTER(Y)
      CALL OUTER(Y)
      END ADR(D = COTANGENT(X))
      END
      SUBROUTINE OUTER(Y)
!farfel: checkpoint
      REAL Y
      CALL SUMS(Y)
      Y = SIN(Y)
      END
      SUBROUTINE SUMS(Y)
      REAL Y, U{CONSTANTS}
      EXTERNAL MPI_ALLREDUCE
      CALL MPI_ALLREDUCE(Y, U, 1, MPI_REAL, MPI_SUM, COMM, IE)
      Y = U*Y
      END
"
    );
    assert_snapshot!(expand(&text).unwrap_err(), @"F0319 9:7 calls of OUTER cannot be carried out again");
}

/// The forward sweep of a subprogram that records nothing is a copy in which messages are remembered, not the
/// subprogram itself.
#[test]
fn subprograms_that_record_nothing() {
    let text = format!(
        "      SUBROUTINE MAIN(X, D)
      REAL X, Y, Z, D
      ADR(COTANGENT(Y) = 1)
      CALL GIVE(X, Z)
      CALL GIVE(Z, Y)
      Y = SIN(Y)
      END ADR(D = COTANGENT(X))
      END
      SUBROUTINE GIVE(X, Y)
      REAL X, Y{CONSTANTS}
      EXTERNAL MPI_SEND
      Y = 2*X
      CALL MPI_SEND(Y, 1, MPI_REAL, 1, 1, COMM, IE)
      Y = 3*Y
      END
"
    );
    let text = expand(&text).unwrap();
    assert!(text.contains("CALL GIVE_S_G1(X, Z)"), "{text}");
    let (_, copy) = text.split_once("SUBROUTINE GIVE_S_G1").unwrap();
    let (copy, _) = copy.split_once("      END\n").unwrap();
    assert!(copy.contains("CALL FARFEL_MPI_SEND("), "{copy}");
}

#[test]
fn constant_calls() {
    let text = block(
        "ADF",
        "
!farfel: constant(MPI_ALLTOALL)
      CALL MPI_ALLTOALL(W, 1, MPI_REAL8, U, 1, MPI_REAL, COMM, IE)
      Y = X
",
    );
    assert!(text.unwrap().contains("CALL MPI_ALLTOALL"));
}

#[test]
fn nested_blocks() {
    let text = format!(
        "      SUBROUTINE MAIN(X, D, COMM)
      REAL X, Y, D, E{CONSTANTS}
      EXTERNAL MPI_ALLREDUCE
      ADF(X)
      ADF(X)
      CALL MPI_ALLREDUCE(X, Y, 1, MPI_REAL, MPI_PROD, COMM, IE)
      END ADF(E = TANGENT(Y))
      END ADF(D = TANGENT(E))
      END
"
    );
    assert_snapshot!(expand(&text).unwrap_err(), @"F0326 14:7 MPI is called in an AD block that another one contains");
}
