C     A model whose parameters Rust reads and sets.
      BLOCK DATA DEFLTS
      INCLUDE 'params.inc'
      DATA VISC, N, NAME /1.5D0, 7, 'steel'/
      DATA GRID /6*2.0/, ON /.TRUE., .FALSE./
      END
C     Everything that changes when Rust sets the block.
      DOUBLE PRECISION FUNCTION WEIGHT(K)
      INCLUDE 'params.inc'
      WEIGHT = VISC*N + 100*GRID(2, 3) + 1000*DBLE(Z*(0.0, -1.0))
      IF (ON(2)) WEIGHT = -WEIGHT
      IF (NAME .EQ. 'tin') WEIGHT = WEIGHT + 0.25D0
      K = TAIL
      END
      SUBROUTINE CHANGE(F)
      EXTERNAL F
      INCLUDE 'params.inc'
      N = N + 1
      CALL F(N)
      N = N + 1
      END
C     Nothing in Fortran assigns this block.
      INTEGER FUNCTION LIMIT(K)
      COMMON /LIMITS/ MOST
      LIMIT = MIN(K, MOST)
      END
      REAL FUNCTION BLANK(X)
      COMMON X1, X2(2)
      BLANK = X*X2(2) + X1
      X1 = X
      END
C     More than fits on a stack.
      REAL FUNCTION LARGE(I)
      COMMON /MANY/ A(20000000)
      LARGE = A(I)
      END
