C     Signs after operators, which compilers accept, and the order of powers.
      PROGRAM POWERS
      REAL A, B, C
      INTEGER I
      A = 4.
      B = 2.
      C = 3.
      I = 2
      PRINT *, A**-1, A**-B*C, A*-B, A/-B*C, A+-B, A- -B, -A**2
      PRINT *, A**(-I)*C, A**-I**2, 2**3**2, (2**3)**2, -2**2, A*-B+C
      PRINT *, A**-B+C, A*-B-C, A*-B**2, A/+C, -A*-B
      PRINT *, A/B/C, A/(B*C), A/B*C, A*(B/C), 7/2*2, 7*2/2, 2*(7/2)
      PRINT *, A - B - C, A - (B - C), A - B + C, A - (B + C)
      END
