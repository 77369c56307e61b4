C     Every operator, and parentheses that matter.
      PROGRAM OPS
      REAL A, B, C
      LOGICAL P, Q, R
      CHARACTER*3 S, T
      A = 7.5
      B = -2.0
      C = 3.0
      P = .TRUE.
      Q = .FALSE.
      R = A .GT. B .AND. .NOT. C .EQ. 3.0 .OR. P
      WRITE (*, 100) A - B - C, A - (B - C), A / B / C, A / (B / C)
      WRITE (*, 100) -A**2, (-A)**2, 2.0**3**2, (2.0**3)**2
      WRITE (*, 100) -A*B, (-A)*B, A*(-B), A**(-2), + A - B
      WRITE (*, 100) A*B + C, A*(B + C), (A*B) + C, -(A + B), -(-A)
      WRITE (*, 200) P .EQV. Q, P .NEQV. Q .EQV. R, .NOT. (P .AND. Q)
      WRITE (*, 200) P .OR. Q .AND. R, (P .OR. Q) .AND. R, .NOT. P
      WRITE (*, 200) A .LT. B, A .LE. B, A .EQ. B, A .NE. B, A .GT. -B
      WRITE (*, 200) A .GE. B + C * 2, A + 1..EQ.8.5, 1.LT.2
      S = 'ab'
      T = 'c'
      WRITE (*, *) S(1:2) // T // 'd' .EQ. 'abc  d', S//T
      IF ((A .LT. B) .EQV. (B .LT. C)) WRITE (*, *) 'same'
  100 FORMAT (1X, 5F12.4)
  200 FORMAT (1X, 5L3)
      END
