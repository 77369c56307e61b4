C     Types in all their spellings.
      PROGRAM TYPES
      IMPLICIT REAL(8) (A), CHARACTER(LEN=4) (D), CHARACTER*6 (E)
      IMPLICIT CHARACTER(8) (F), DOUBLE COMPLEX (Z), BYTE (B)
      INTEGER KD, KI
      PARAMETER (KD = SELECTED_REAL_KIND(15), KI = 2)
      PARAMETER (NC = 3)
      REAL(KIND(1.0D0)) W
      REAL(KIND=KD) V
      REAL(8) V8
      COMPLEX(KIND=KD) U
      COMPLEX(4) U4
      REAL*16 Q
      COMPLEX*32 R
      COMPLEX*8 S
      LOGICAL*1 L1
      LOGICAL(KI) L2
      INTEGER*1 I1
      INTEGER(KIND=SELECTED_INT_KIND(12)) I8
      CHARACTER*8 C, CB(2)*3, CC*(NC), CD*(2*NC)
      CHARACTER*(NC) CE
      CHARACTER(LEN=NC+1, KIND=1) CF
      CHARACTER(9) CG
      CHARACTER CH*(*)
      PARAMETER (CH = 'hello')
      REAL LAST(3, 2)
      D = 'abcdefgh'
      PRINT *, KIND(A), D, LEN(E), LEN(F), KIND(Z), KIND(B), KIND(G)
      PRINT *, KIND(W), KIND(V), KIND(V8), KIND(U), KIND(U4), KIND(Q)
      PRINT *, KIND(R), KIND(S), KIND(L1), KIND(L2), KIND(I1), KIND(I8)
      PRINT *, LEN(C), LEN(CB(1)), LEN(CC), LEN(CD), LEN(CE), LEN(CF)
      PRINT *, LEN(CG), CH, SIZE(LAST)
      CALL CHARS('four', 2)
      END
      SUBROUTINE CHARS(S, N)
      CHARACTER*(*) S
      CHARACTER T*(N), JOIN*9
      EXTERNAL JOIN
      T = S
      PRINT *, LEN(S), T, JOIN(S, 'ty')
      END
      CHARACTER*(*) FUNCTION JOIN(A, B)
      CHARACTER*(*) A, B
      JOIN = A // B
      END
