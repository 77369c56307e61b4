C     X and E are arguments and results.
      SUBROUTINE FLOW(N, X, E)
      INTEGER N
      DOUBLE PRECISION X(N), E
      E = E**2*SUM(X**3)
      X = 2*X*E
      END
C     The compiler cannot prove that all of the tangent is assigned.
      SUBROUTINE STEPS(N, Y, H, M)
      INTEGER N, M, K, I
      DOUBLE PRECISION Y(N), H
      DO 10 K = 1, M
      DO 10 I = 1, N
        IF (Y(I) .LT. 0) GOTO 10
        Y(I) = Y(I) + H*Y(I)**2
   10 CONTINUE
      END
C     An ENTRY point of a subroutine with other arguments, and what it saves.
      SUBROUTINE PREPARE(W)
      DOUBLE PRECISION W, Q, A(*), S
      INTEGER N, I
      SAVE Q
      Q = W
      RETURN
C     The sum of cubes.
      ENTRY SCALED(N, A, S)
      S = 0
      DO 20 I = 1, N
   20 S = S + Q*A(I)**3
      END
C     An ENTRY point of a function.
      DOUBLE PRECISION FUNCTION SQUARE(X)
      DOUBLE PRECISION X, Z, POWER
      SQUARE = X**2
      RETURN
      ENTRY POWER(X, Z)
      POWER = X**3*SIN(Z)
      END
C     Alternate returns between the arguments.
      SUBROUTINE ESCAPE(X, *, Y, N, *)
      DOUBLE PRECISION X, Y
      INTEGER N
      Y = X**2
      X = X*Y
      IF (N .EQ. 2) RETURN 2
      IF (N .EQ. 1) RETURN 1
      Y = X**2
      END
C     Together with a closure.
      SUBROUTINE LEAVE(F, X, Y, *)
      DOUBLE PRECISION F, X, Y
      EXTERNAL F
      Y = F(X)*X
      IF (X .GT. 1) RETURN 1
      Y = Y + 1
      END
C     F goes to a procedure that is passed itself, in two ways. IP has no bound.
      SUBROUTINE DRIVE(F, N, Y, IP)
      DOUBLE PRECISION Y(N)
      INTEGER N, IP(*)
      EXTERNAL F, FIRST
      CALL STEP(F, FIRST, N, Y, IP)
      END
      SUBROUTINE TURN(F, N, Y, IP)
      DOUBLE PRECISION Y(N)
      INTEGER N, IP(*)
      EXTERNAL F, SECOND
      CALL STEP(F, SECOND, N, Y, IP)
      END
      SUBROUTINE STEP(F, PREP, N, Y, IP)
      DOUBLE PRECISION Y(N), D(N)
      INTEGER N, IP(*), I
      EXTERNAL F, PREP
      CALL PREP(F, N, Y, D, IP)
      DO 30 I = 1, N
   30 Y(I) = Y(I) + D(I)*Y(I)
      END
      SUBROUTINE FIRST(F, N, Y, D, IP)
      DOUBLE PRECISION Y(N), D(N)
      INTEGER N, IP(*)
      EXTERNAL F
      CALL F(N, Y, D, IP)
      END
      SUBROUTINE SECOND(F, N, Y, D, IP)
      DOUBLE PRECISION Y(N), D(N)
      INTEGER N, IP(*), I
      EXTERNAL F
      CALL F(N, Y, D, IP)
      DO 40 I = 1, N
   40 D(I) = D(I)**2
      END
C     Procedures with numbers of two types.
      DOUBLE PRECISION FUNCTION MIXED(F, G, X, R)
      DOUBLE PRECISION F, X, T(2)
      REAL R, S
      EXTERNAL F, G
      T(1) = X
      T(2) = 2*X
      CALL G(T, S)
      MIXED = F(X, R)**2 + S*X
      END
C     Procedures with COMPLEX arguments: arrays and scalars, assigned or not, of two kinds, and a COMPLEX value.
      DOUBLE PRECISION FUNCTION WAVE(F, G, X)
      DOUBLE PRECISION X(2)
      COMPLEX*16 F, Z, W(2), A
      COMPLEX R
      REAL S
      EXTERNAL F, G
      S = 1.5*X(1)
      Z = DCMPLX(X(1), X(2))
      W(1) = Z*Z
      W(2) = DCMPLX(0.5D0, X(1))
      A = (0.3D0, -0.2D0)*X(2)
      CALL G(Z, W, A, R)
      WAVE = DBLE(F(W, A, S)*CONJG(Z)) + DIMAG(A)*AIMAG(R)
      END
C     An array of any size that only the ENTRY point has.
      SUBROUTINE DIRECT(N, X, Y)
      DOUBLE PRECISION X(N), Y, A(*)
      INTEGER N, I
      Y = 0
      DO 50 I = 1, N
   50 Y = Y + X(I)**2
      RETURN
      ENTRY TWICE(A, N, Y)
      Y = A(1)*A(N)
      END
