C     IMPLICIT statements, several of them.
      SUBROUTINE NONE1
      IMPLICIT NONE
      INTEGER X
      X = 3
      PRINT *, X/2
      END
      PROGRAM IMPL
      IMPLICIT INTEGER (A, C-E), REAL*8 (I-K)
      IMPLICIT LOGICAL*1 (L), COMPLEX (Z)
      IMPLICIT CHARACTER*3 (S)
      A = 2.9
      C = 3.9
      E = 4.9
      I = 1.5
      K = 2.5
      L = .TRUE.
      Z = 2
      S = 'abcdef'
      B = 2.5
      S2(2:3) = 'xy'
      S2(1:1) = S(3:3)
      PRINT *, A, C, E, I, K, L, Z, S, B, S2
      CALL NONE1
      CALL T('ab')
      END
      SUBROUTINE T(S)
      IMPLICIT CHARACTER*(2) (S)
      PRINT *, S, LEN(S), LEN(S2)
      END
