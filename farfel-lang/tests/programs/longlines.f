C     Statements of many lines, and blocks within blocks.
      PROGRAM LONG
      REAL VALUES(12), FIRST, SECOND, THIRD, FOURTH, FIFTH
      LOGICAL FLAG
      DATA VALUES /1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11
     +.0, 12.0/
      FLAG = .TRUE.
      FIRST = VALUES(1)*VALUES(2)*VALUES(3)*VALUES(4)*VALUES(5)*VALUES(6
     +) + VALUES(7)**VALUES(1) - (VALUES(8) + VALUES(9)*(VALUES(10) - VA
     +LUES(11)/(VALUES(12) + VALUES(1) + VALUES(2) + VALUES(3) + VALUES(
     +4) + VALUES(5)))) + 123456.789E-3 - 987654.321E-3 + 1.0 + 2.0 + 3.
     +0 + 4.0 + 5.0 + 6.0
      PRINT *, FIRST
      IF (FLAG .AND. FIRST .LT. 0.0 .AND. VALUES(1) .LT. VALUES(2) .AND.
     *    VALUES(2) .LT. VALUES(3)) THEN
        IF (FLAG) THEN
          IF (FLAG) THEN
            IF (FLAG) THEN
              IF (FLAG) THEN
                IF (FLAG) THEN
                  DO 10 I = 1, 2
                    DO 10 J = 1, 2
                      IF (I .EQ. J) PRINT *, 'a text of some length here
     +', I, J, ' and another text that does not fit', FLAG
   10             CONTINUE
                END IF
              END IF
            END IF
          END IF
        END IF
      END IF
      CALL MANY(FIRST, SECOND, THIRD, FOURTH, FIFTH, VALUES, FLAG, 1, 2,
     + 3, 4, 5)
      PRINT *, SECOND
      END

      SUBROUTINE MANY(FIRST, SECOND, THIRD, FOURTH, FIFTH, VALUES, FLAG,
     + I1, I2, I3, I4, I5)
      REAL VALUES(*)
      LOGICAL FLAG
      SECOND = FIRST + I1 + I2 + I3 + I4 + I5
      THIRD = VALUES(1)
      END
