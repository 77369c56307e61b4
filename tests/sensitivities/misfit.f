C     The sum of squares of what a model differs by from data.
      DOUBLE PRECISION FUNCTION MISFIT(MODEL, M, T, D, N, P)
      INTEGER M, N, I
      DOUBLE PRECISION MODEL, T(M), D(M), P(N)
      EXTERNAL MODEL
      MISFIT = 0
      DO 10 I = 1, M
   10 MISFIT = MISFIT + (MODEL(T(I), P) - D(I))**2
      END
