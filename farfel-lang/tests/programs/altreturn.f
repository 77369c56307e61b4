      PROGRAM ALTER
      INTEGER I
      DO 40 I = 1, 3
      CALL CHOOSE(I, *10, *20)
      PRINT *, 'plain'
      GO TO 30
   10 PRINT *, 'first'
      GO TO 30
   20 PRINT *, 'second'
   30 CONTINUE
   40 CONTINUE
      END

      SUBROUTINE CHOOSE(N, *, *)
      IF (N .EQ. 1) RETURN 1
      IF (N .EQ. 2) RETURN N
      RETURN
      END
