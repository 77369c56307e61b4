C     What gfortran accepts, and flang does not.
C
C     A format in an array of numbers.
      SUBROUTINE FMTINT(K, X, T)
      INTEGER K(5)
      CHARACTER*40 T
      WRITE (T, K) X
      END
C     What flang's library does not have.
      SUBROUTINE HOURS(K)
      INTEGER K(2)
      CALL ITIME(K)
      END
