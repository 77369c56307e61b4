C     flags: -fcray-pointer
      PROGRAM CRAY
      REAL X, Z(4), Y
      POINTER (IP, X(3)), (IQ, Y)
      INTEGER*8 IR
      INTEGER K(2)
      POINTER (IR, K)
      INTEGER M(2)
      DO 10 I = 1, 4
   10 Z(I) = I*1.5
      M(1) = 11
      M(2) = 22
      IP = LOC(Z(2))
      IQ = %LOC(Z(4))
      IR = LOC(M)
      PRINT *, X(1), X(3), Y, K(2)
      X(2) = -1
      Y = 7.5
      PRINT *, Z
      CALL S(%VAL(LOC(M)), %REF(Z))
      END
      SUBROUTINE S(J, Z)
      REAL Z(4)
      INTEGER L(2), J
      POINTER (JP, L)
      JP = LOC(J)
      PRINT *, L, Z(2)
      END
