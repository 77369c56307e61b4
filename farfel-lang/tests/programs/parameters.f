C     PARAMETER without parentheses, constants made of others.
      PROGRAM PARAMS
      PARAMETER N = 3
      PARAMETER M = N + 1, X = 2.5
      INTEGER, PARAMETER :: K = N*M, L(2) = K
      CHARACTER*4 C
      PARAMETER (C = 'ab' // 'cd')
      LOGICAL T
      PARAMETER (T = N .GT. 2)
      REAL A(N, 0:M), B(-N:N)
      DATA A /15*1.0/, B /N*1.0, 0.0, N*2.0/
      PRINT *, N, M, X, K, L, C, T, SIZE(A), B
      END
