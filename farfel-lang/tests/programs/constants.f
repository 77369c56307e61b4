      PROGRAM CONSTS
      INTEGER N, M, I, J
      PARAMETER (N = 4, M = 2*N - 1)
      REAL PI, A(N), B(2, 3), U(5)
      DOUBLE PRECISION E
      COMPLEX Z
      LOGICAL YES
      CHARACTER*6 NAME
      CHARACTER TITLE*(*), ONE
      PARAMETER (PI = 3.14159, TITLE = 'Don''t panic')
      PARAMETER (YES = .TRUE., E = 2.718281828D0)
      DATA A /N*0.5/, II, JJ /1, -2/
      DATA ((B(I, J), I = 1, 2), J = 1, 3) /6*1.5/
      DATA (U(K), K = 1, 5, 2) /1.0, 2.0, 3.0/, U(2), U(4) /2*-1.0/
      DATA Z /(1.0, -2.5)/, NAME(1:3) /'abc'/, NAME(4:6) /'def'/
      DATA ONE /'x'/
      PRINT *, N, M, PI, E, YES
      PRINT *, TITLE, ' ', NAME, ' ', ONE
      PRINT *, A, B, U
      PRINT *, Z, 1.E-3, .5, 5., 1D2, 1.5E+3, -7
      END
