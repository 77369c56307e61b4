C     Rosenbrock's function.
      DOUBLE PRECISION FUNCTION ROSEN(N, X)
      DOUBLE PRECISION X(N)
      ROSEN = 0
      DO 10 I = 1, N - 1
   10 ROSEN = ROSEN + 100*(X(I + 1) - X(I)**2)**2 + (1 - X(I))**2
      END
C     A function of two numbers.
      DOUBLE PRECISION FUNCTION WAVE(X, Y)
      DOUBLE PRECISION X, Y
      WAVE = X*SIN(Y)
      DO 10 I = 1, 3
   10 WAVE = WAVE + COS(I*X)/Y
      END
