      PROGRAM BITS
      INTEGER I, J, K
      INTEGER*8 N
      REAL X
      LOGICAL*1 T
      DOUBLE PRECISION D
      DATA I /Z'FF'/, J /O'17'/, K /B'101'/, X /1.5/
      N = 5000000000_8
      T = .TRUE._1
      D = 1.1_8 - 1.1_4
      PRINT *, I, J, K, X, N, T, D
      PRINT *, INT(Z'1F'), REAL(Z'40490FDB'), 2_8**40, 1.5E1_8
      CALL SHOW(7_8, 2.5_8)
      END

      SUBROUTINE SHOW(N, D)
      INTEGER*8 N
      DOUBLE PRECISION D
      PRINT *, N, D
      END
