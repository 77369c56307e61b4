C     ENTRY in functions and subroutines.
      PROGRAM ENTERS
      REAL F, G, X
      INTEGER K
      PRINT *, F(2.), G(2., 3.)
      K = 1
      CALL S(K)
      CALL T
      CALL U(K, *10)
      PRINT *, 'not here'
   10 PRINT *, K
      END

      REAL FUNCTION F(X)
      REAL X, Y, G
      F = X + 1.
      RETURN
      ENTRY G(X, Y)
      G = X*Y
      IF (Y .GT. 2.) G = -G
      END

      SUBROUTINE S(K)
      INTEGER K, N
      SAVE N
      DATA N /10/
      N = N + K
      ENTRY T
      PRINT *, N
      RETURN
      ENTRY U(K, *)
      K = N*2
      RETURN 1
      END
