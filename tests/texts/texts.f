C     Texts in arrays, of functions and for procedures.

C     The number of NAMES that are equal to WORD.
      INTEGER FUNCTION KOUNT(N, NAMES, WORD)
      CHARACTER*5 NAMES(N)
      CHARACTER*(*) WORD
      KOUNT = 0
      DO 10 I = 1, N
   10 IF (NAMES(I) .EQ. WORD) KOUNT = KOUNT + 1
      END
C     The length of the elements, and the last one.
      SUBROUTINE LASTOF(N, NAMES, LENGTH, LAST)
      CHARACTER*(*) NAMES(N)
      CHARACTER*6 LAST
      LENGTH = LEN(NAMES(1))
      LAST = NAMES(N)
      END
C     Behind the last column there is nothing.
      SUBROUTINE LABELS(M, N, T)
      CHARACTER*3 T(M, N)
      DO 10 J = 1, N
      DO 10 I = 1, M
   10 WRITE (T(I, J), '(I1, A1, I1)') I, ',', J
      END
C     Turns the order around, and puts a mark in front.
      SUBROUTINE AROUND(N, T, MARK)
      CHARACTER*(*) T(*), MARK
      CHARACTER*80 KEPT
      DO 10 I = 1, N/2
      KEPT = T(I)
      T(I) = T(N+1-I)
   10 T(N+1-I) = KEPT
      DO 20 I = 1, N
   20 T(I)(1:1) = MARK
      END
C     Outside of the module, since it is called with other arguments than it has.
      SUBROUTINE OLD(T, K)
      CHARACTER*4 T(2)
      T(2) = T(1)
      K = ICHAR(T(1)(1:1))
      END
      SUBROUTINE SLOPPY(K)
      INTEGER K(1)
      CHARACTER*4 T(2)
      T(1) = 'AB'
      CALL OLD(T, K)
      END
      SUBROUTINE FIRST3(T, N)
      CHARACTER*(*) T(*)
      N = ICHAR(T(3)(1:1))
      END

      CHARACTER*8 FUNCTION WORD(I)
      CHARACTER*8 OTHER
      WORD = 'word '//CHAR(ICHAR('0') + I)
      RETURN
      ENTRY OTHER(I)
      OTHER = CHAR(I)
      END
      CHARACTER FUNCTION LETTER(T, I)
      CHARACTER*(*) T
      LETTER = T(I:I)
      END
C     As much of T as there is room for.
      CHARACTER*(*) FUNCTION TWICE(T)
      CHARACTER*(*) T
      TWICE = T//T
      END

C     F gets each element, a constant, and what is put together.
      INTEGER FUNCTION EACH(F, N, T)
      INTEGER F
      EXTERNAL F
      CHARACTER*(*) T(N)
      EACH = 0
      DO 10 I = 1, N
   10 EACH = EACH + F(T(I), I)
      EACH = EACH + F('end ', N + 1)
      EACH = EACH + F('<'//(T(1))//CHAR(62), 0)
      EACH = EACH + F(T(1)(N:N+1), -1)
      END
C     F changes T, or a part of it.
      SUBROUTINE EDIT(F, T, I)
      EXTERNAL F
      CHARACTER*(*) T
      CHARACTER*4 OWN
      OWN = 'own'
      CALL F(T, 1)
      CALL F(T(I:), 2)
      CALL F(OWN, 3)
      T(1:1) = OWN
      END
      CHARACTER*5 FUNCTION MADE(K)
      MADE = 'made'
      END
C     These cannot be closures.
      SUBROUTINE HARD1(F)
      EXTERNAL F
      CHARACTER*5 MADE
      CALL F(MADE(1))
      END
      SUBROUTINE HARD2(F)
      EXTERNAL F
      CHARACTER*5 T(2)
      CALL F(T)
      END
      SUBROUTINE HARD3(F, C)
      CHARACTER*5 F, C
      EXTERNAL F
      C = F(1)
      END
      SUBROUTINE HARD4(F, G)
      EXTERNAL F, G
      CALL F(G)
      CALL G('x')
      END
      SUBROUTINE HARD5(C)
      COMMON N
      CHARACTER*(N) C
      C = 'x'
      END
      SUBROUTINE HARD6(N, C)
      CHARACTER*(N+1) C
      COMMON M
      C = 'x'
      ENTRY HARD7(C)
      M = LEN(C)
      END
C     The length is an argument.
      SUBROUTINE BACKW(N, C, D, E)
      CHARACTER*(N) C, D, E(2)
      DO 10 I = 1, N
   10 D(N+1-I:N+1-I) = C(I:I)
      E(2) = D
      E(1) = E(2)(2:)
      END
C     Old programs pass constants that are too short; the rest is blank.
      LOGICAL FUNCTION SHORTC(I)
      LOGICAL LONGER
      SHORTC = LONGER('DGER', I)
      END
      LOGICAL FUNCTION LONGER(C, I)
      CHARACTER*6 C
      LONGER = C(I:I) .EQ. ' '
      END
