C     Extensions of logical and relational operators.
      PROGRAM LOGIC
      LOGICAL P, Q, X, Y
      INTEGER I, J
      P = .TRUE.
      Q = .FALSE.
      I = 6
      J = 3
      X = .NOT. Y(I)
      PRINT *, P .XOR. Q, P .XOR. P, P .AND. Q .XOR. P, .NOT. P .XOR. Q
      PRINT *, I == J, I /= J, I < J, I <= J, I > J, I >= J
      PRINT *, I == J .OR. I > J .AND. .NOT. I < J, X
      PRINT *, .NOT. I .EQ. J .AND. P, .NOT. (I .EQ. J .AND. P)
      PRINT *, P .EQV. Q .OR. P, (P .EQV. Q) .OR. P, P .NEQV. Q .EQV. Q
      PRINT *, I .EQ. -J, I - J .EQ. J, -I .LT. -J
      I = .TRUE.
      P = 0
      PRINT *, I .NE. 0, P
      IF (I/=0) PRINT *, 'ok'
      END

      LOGICAL FUNCTION Y(I)
      Y = I .GT. 5
      END
