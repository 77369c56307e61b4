C     flags: -fdec-static
      PROGRAM AUTOS
      DO 10 I = 1, 3
   10 CALL S(I)
      END
      SUBROUTINE S(I)
      AUTOMATIC A
      STATIC K
      INTEGER, STATIC :: L = 5
      REAL, AUTOMATIC :: B(2)
      IF (I .EQ. 1) K = 0
      K = K + I
      L = L + 1
      A = K
      B(2) = L
      PRINT *, K, L, A, B(2)
      END
