C     Unrolled by four, the rest first.
      SUBROUTINE SCALE(N, A, X)
      DOUBLE PRECISION A, X(*)
      IF (N .LE. 0) RETURN
      M = MOD(N, 4)
      IF (M .EQ. 0) GO TO 40
      DO 30 I = 1, M
        X(I) = A*X(I)
   30 CONTINUE
      IF (N .LT. 4) RETURN
   40 MP1 = M + 1
      DO 50 I = MP1, N, 4
        X(I) = A*X(I)
        X(I+1) = A*X(I+1)
        X(I+2) = A*X(I+2)
        X(I+3) = A*X(I+3)
   50 CONTINUE
      END

C     By the increment; elements that are zero do nothing.
      SUBROUTINE UPDATE(M, N, A, LDA, X, INCX, Y)
      DOUBLE PRECISION A(LDA,*), X(*), Y(*)
      JX = 1
      IF (INCX .EQ. 1) GOTO 20
      IF (INCX .LT. 0) JX = 1 - (N - 1)*INCX
      DO 10 J = 1, N
        IF (X(JX) .EQ. 0D0) GOTO 9
        DO 5 I = 1, M
    5   Y(I) = Y(I) + X(JX)*A(I,J)
    9   JX = JX + INCX
   10 CONTINUE
      RETURN
   20 DO 40 J = 1, N
        IF (X(J) .EQ. 0D0) GOTO 40
        DO 30 I = 1, M
          Y(I) = Y(I) + X(J)*A(I,J)
   30   CONTINUE
   40 CONTINUE
      END

C     Arguments are checked, and a pivot that is zero is an error.
      SUBROUTINE FACTOR(N, A, LDA, INFO)
      DOUBLE PRECISION A(LDA,*)
      INFO = 0
      IF (N .LT. 0) THEN
        INFO = -1
      ELSE IF (LDA .LT. MAX(1, N)) THEN
        INFO = -3
      END IF
      IF (INFO .NE. 0) THEN
        CALL FAULT('FACTOR', -INFO)
        RETURN
      END IF
      IF (N .EQ. 0) RETURN
      DO 30 J = 1, N
        IF (A(J,J) .EQ. 0D0) GO TO 40
        DO 20 K = J + 1, N
          A(K,J) = A(K,J)/A(J,J)
          DO 10 I = J + 1, N
            A(K,I) = A(K,I) - A(K,J)*A(J,I)
   10     CONTINUE
   20   CONTINUE
   30 CONTINUE
      RETURN
   40 INFO = J
      END

C     Two loops of iterations, and several reasons to end.
      SUBROUTINE SOLVE(F, X, TOL, MAXIT, INFO)
      EXTERNAL F
      INFO = 0
      IT = 0
      IF (TOL .LT. 0 .OR. MAXIT .LE. 0) GO TO 300
      Y = F(X)
  100 CONTINUE
        STEP = Y
  200   CONTINUE
          IT = IT + 1
          Z = F(X - STEP)
          IF (IT .GE. MAXIT) INFO = 2
          IF (INFO .NE. 0) GO TO 300
          IF (ABS(Z) .LT. ABS(Y)) GO TO 250
          STEP = STEP/2
          GO TO 200
  250   CONTINUE
        X = X - STEP
        Y = Z
        IF (ABS(STEP) .LE. TOL) INFO = 1
        IF (INFO .NE. 0) GO TO 300
        GO TO 100
  300 CONTINUE
      IF (INFO .EQ. 2) X = 0
      END

C     A root by Heron's method, and a search.
      FUNCTION HERON(X, T, N)
      DIMENSION T(N)
      HERON = X
   10 OLD = HERON
      HERON = 0.5*(HERON + X/HERON)
      IF (ABS(HERON - OLD) .GT. 1E-6*HERON) GOTO 10
      I = 0
   20 IF (I .GE. N) GOTO 30
      I = I + 1
      HERON = HERON + T(I)
      GOTO 20
   30 DO 40 I = 1, N
        IF (T(I) .GT. HERON) EXIT
   40 CONTINUE
      IF (I - N) 50, 60, 70
   50 HERON = T(I)
      GOTO 80
   60 HERON = -T(I)
      GOTO 80
   70 HERON = 0
   80 GOTO (90, 100), I
      RETURN
   90 HERON = HERON + 1
      RETURN
  100 HERON = HERON + 2
      END
