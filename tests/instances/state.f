C     State in every form that FORTRAN 77 has.
      BLOCK DATA INIT
      COMMON /PAR/ G, A(3), NMAX, NAME
      DOUBLE PRECISION G, A
      CHARACTER*8 NAME
      DATA G /9.81D0/, A(2) /5D0/, NMAX /4/, NAME /'initial'/
      END
C     Sets what the others read.
      SUBROUTINE SETUP(G0, TEXT)
      COMMON /PAR/ G, A(3), NMAX, NAME
      DOUBLE PRECISION G, A, G0
      CHARACTER NAME*8, TEXT*(*)
      G = G0
      NAME = TEXT
      DO 10 NMAX = 1, 3
   10 A(NMAX) = NMAX*G0
      END
C     The same block in one piece, and by its elements.
      DOUBLE PRECISION FUNCTION ALL4()
      COMMON /PAR/ X(4), N, C1(8)
      DOUBLE PRECISION X, FIRST, REST(3)
      CHARACTER C1*1
      EQUIVALENCE (X, FIRST), (X(2), REST)
      ALL4 = FIRST + REST(1) + REST(2) + REST(3) + N
      IF (C1(1) .EQ. 'i') ALL4 = ALL4 + 1000
      END
C     Counts its calls, and remembers the largest argument.
      SUBROUTINE COUNTS(X, N, XMAX)
      DOUBLE PRECISION X, XMAX, LARGE
      SAVE
      DATA NCALLS, LARGE /0, -1D30/
      NCALLS = NCALLS + 1
      LARGE = MAX(LARGE, X)
      N = NCALLS
      XMAX = LARGE
      END
C     ENTRY points share what is saved; LOC is a variable like others.
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
      SUBROUTINE TOP(K)
      CALL POP(K)
      CALL PUSH(K)
      END
C     A table that nobody changes, and a work array that is too large for the stack.
      DOUBLE PRECISION FUNCTION WORKS(N)
      DOUBLE PRECISION W(20000), T(3)
      DATA T /1D0, 2D0, 3D0/
      DO 10 I = 1, N
   10 W(I) = T(MOD(I, 3) + 1)
      WORKS = 0
      DO 20 I = 1, N
   20 WORKS = WORKS + W(I)
      END
C     Sizes by a variable in COMMON.
      DOUBLE PRECISION FUNCTION SIZES(X)
      COMMON /PAR/ G, A(3), NMAX, NAME
      DOUBLE PRECISION G, A, X(NMAX), Y(NMAX)
      CHARACTER*8 NAME
      DO 10 I = 1, NMAX
   10 Y(I) = 2*X(I)
      SIZES = Y(NMAX)
      END
C     Half of the squares of the differences, by way of COMMON.
      DOUBLE PRECISION FUNCTION ENERGY(X)
      DOUBLE PRECISION X(3), R
      COMMON /RES/ R(3)
      CALL RESID(X)
      ENERGY = (R(1)**2 + R(2)**2 + R(3)**2)/2
      END
      SUBROUTINE RESID(X)
      COMMON /PAR/ G, A(3), NMAX, NAME
      COMMON /RES/ R(3)
      DOUBLE PRECISION G, A, X(3), R
      CHARACTER*8 NAME
      DO 10 I = 1, 3
   10 R(I) = G*X(I)**2 - A(I)
      END
C     Writes a file of its own and reads it again.
      SUBROUTINE FILES(LUN, PATH, TOTAL)
      CHARACTER*(*) PATH
      DOUBLE PRECISION TOTAL, V
      OPEN (LUN, FILE=PATH)
      DO 10 I = 1, 100
   10 WRITE (LUN, *) I*0.5D0
      REWIND LUN
      TOTAL = 0
      DO 20 I = 1, 100
      READ (LUN, *) V
   20 TOTAL = TOTAL + V
      CLOSE (LUN, STATUS='DELETE')
      END
C     Lends COMMON to a closure.
      SUBROUTINE LENDS(F, S)
      EXTERNAL F
      COMMON /PAR/ G, A(3), NMAX, NAME
      DOUBLE PRECISION F, G, A, S
      CHARACTER*8 NAME
      S = F(A, G)
      END
C     Reads wherever it is told to.
      DOUBLE PRECISION FUNCTION WILD(I)
      COMMON /PAR/ G, A(3), NMAX, NAME
      DOUBLE PRECISION G, A
      CHARACTER*8 NAME
      WILD = A(I)
      END
C     STOP in the midst.
      SUBROUTINE STOPS
      COMMON /PAR/ G, A(3), NMAX, NAME
      DOUBLE PRECISION G, A
      CHARACTER*8 NAME
      NMAX = 7
      STOP 'half-way'
      END
C     No state at all.
      DOUBLE PRECISION FUNCTION TWICE(X)
      DOUBLE PRECISION X
      TWICE = 2*X
      END
      SUBROUTINE DATAS(N)
      IMPLICIT NONE
      INTEGER T(3), I, N, M
      PARAMETER (M=3)
      DATA (T(I), I = 1, M) /1, 2, 3/
      DO 10 I = 1, 3
   10 T(I) = T(I) + N
      N = T(1) + T(2) + T(3)
      END
      SUBROUTINE SAVES(X, Y)
      SAVE
      REAL X, Y, A(3), B, G, Z
      LOGICAL L
      COMPLEX C
      CHARACTER*3 S, U(2)
      DATA B /1.5/, L /.TRUE./, C /(1.0, 2.0)/, S /'abc'/, U /'x', 'y'/
      G(Z) = Z*B
      A(1) = X
      IF (L) A(2) = G(X)
      L = .NOT. L
      C = C*2
      S(2:2) = U(1)(1:1)
      U(1) = S
      Y = A(1) + A(2) + REAL(C)
      IF (S .EQ. 'axc') Y = Y + 100
      END
      CHARACTER*8 FUNCTION NAMED(K)
      CHARACTER*8 LAST
      SAVE LAST
      DATA LAST /'none'/
      NAMED = LAST
      WRITE (LAST, '(I3)') K
      END
      SUBROUTINE SHOWN(T, K)
      CHARACTER*8 T, NAMED
      T = NAMED(K)
      END
C     NAMELIST, by a file.
      SUBROUTINE LISTS(PATH)
      CHARACTER*(*) PATH
      COMMON /NLC/ IA, XB(2)
      NAMELIST /NL/ IA, XB
      IA = 3
      XB(1) = 1.5
      XB(2) = 2.5
      OPEN (77, FILE=PATH)
      WRITE (77, NL)
      REWIND 77
      IA = 0
      XB(2) = 0
      READ (77, NL)
      CLOSE (77, STATUS='DELETE')
      END
      SUBROUTINE BLANKS(X)
      COMMON A, B
      COMMON /NLC/ JA, YB(2)
      A = A + X
      X = A + YB(2)
      END
