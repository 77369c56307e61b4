C     State of instances, which Rust can change.
      BLOCK DATA BEGIN
      COMMON /GRID/ N, INDEX(4), X(4), Q, NAME
      DOUBLE PRECISION X
      LOGICAL Q
      CHARACTER*4 NAME
      DATA N /4/, INDEX /1, 2, 3, 4/, X /4*1D0/, NAME /'GRID'/
      END
      SUBROUTINE SWEEP(Y)
      COMMON /GRID/ N, INDEX(4), X(4), Q, NAME
      DOUBLE PRECISION X, Y(*)
      LOGICAL Q
      CHARACTER*4 NAME
      DO 10 I = 1, N
   10 X(INDEX(I)) = X(INDEX(I)) + Y(I)
      END
      DOUBLE PRECISION FUNCTION ADJUST(Y)
      COMMON /GRID/ N, INDEX(4), X(4), Q, NAME
      DOUBLE PRECISION X, Y(N)
      LOGICAL Q
      CHARACTER*4 NAME
      ADJUST = Y(N) + X(N)
      IF (Q) ADJUST = Y(1)
      IF (NAME(N:N) .EQ. ' ') ADJUST = 0
      END
      SUBROUTINE PUSH(K)
      INTEGER STACK(10), LOC
      SAVE STACK, LOC
      DATA LOC /0/
      LOC = LOC + 1
      STACK(LOC) = K
      RETURN
      ENTRY POP(K)
      K = STACK(LOC)
      LOC = LOC - 1
      END
      SUBROUTINE AGAIN
      COMMON /JUMP/ L, K
      GOTO L
      ASSIGN 10 TO L
   10 K = 1
      END
      SUBROUTINE FORALL(F, M)
      EXTERNAL F
      COMMON /GRID/ N, INDEX(4), X(4), Q, NAME
      DOUBLE PRECISION X
      LOGICAL Q
      CHARACTER*4 NAME
      DO 10 I = 1, M
        CALL F(INDEX, N)
   10 X(INDEX(N)) = I
      END
      DOUBLE PRECISION FUNCTION ENERGY(M, X)
      DOUBLE PRECISION X(M), W
      COMMON /WORK/ W(3)
      DO 10 I = 1, M
   10 W(I) = X(I)**2
      ENERGY = W(1)*W(2) + W(3)
      END
