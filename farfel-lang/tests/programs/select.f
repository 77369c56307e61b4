      PROGRAM CHOICE
C     SELECT CASE with integers, characters, logicals; ranges, lists,
C     DEFAULT anywhere; names; labels
      INTEGER I, K, NAMED
      CHARACTER*8 W
      LOGICAL L
      DO 50 I = -3, 12
        SELECT CASE (I)
C       before the first case
        CASE (:-2)
          K = 1
        CASE (0, 3, 5:7)
C         in a list
          K = 2
          IF (I .EQ. 6) GOTO 40
          K = 20
        CASE DEFAULT
          K = 3
        CASE (10:)
          K = 4
C       before the end
   40   END SELECT
        PRINT *, I, K, NAMED(I)
   50 CONTINUE
      W = 'beta'
      DO 60 I = 1, 3
      SELECTCASE(W(1:1))
      CASE ('a')
        PRINT *, 'alpha'
        W = 'zeta'
      CASE ('b' : 'd', 'it''s')
        PRINT *, 'b to d'
        W = 'alpha'
      CASEDEFAULT
        PRINT *, 'other'
      ENDSELECT
   60 CONTINUE
      L = I .GT. 100
      SELECT CASE (L)
      CASE (.TRUE.)
        PRINT *, 'true'
      CASE (.FALSE.)
        PRINT *, 'false'
      END SELECT
      END

      INTEGER FUNCTION NAMED(I)
      INTEGER I, ONE
      PARAMETER (ONE = 1)
      NAMED = 0
      OUTER: SELECT CASE (MOD(I, 3))
      CASE (ONE) OUTER
      INNER:   SELECT CASE (I)
          CASE (ONE + 3) INNER
            NAMED = 44
          CASE DEFAULT INNER
            NAMED = 5
          END SELECT INNER
      CASE (2*ONE) OUTER
        NAMED = 2
      END SELECT OUTER
      END
