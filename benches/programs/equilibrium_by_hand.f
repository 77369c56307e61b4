C     The two-player game of the paper's example without any AD: what a
C     careful person writes who differentiates with pencil and paper.
C
C     It does what the paper's program does, step for step. Three Newton
C     iterations, one inside the other, of N steps each:
C
C       outer    on ASTAR, to f(ASTAR) = argmax(g) - ASTAR = 0
C       middle   on A, to dg/da = 0, one inner iteration for each step
C       inner    on B, to dh/db = 0, starting where the last one ended
C
C     and the same orders of derivatives: the inner and middle steps need
C     the second derivatives of the payoffs, and the outer one what comes
C     of differentiating both iterations by ASTAR (the names in D). No
C     step is left out although the payoffs are quadratic, so that one
C     step would do, and X - Y/Y' stays the division that it is.
C
C       h(b) = b*(20 - 0.1*b - 0.0999*astar) - b*(10.005 - 0.05*b)
C       h'(b) = 9.995 - 0.0999*astar - 0.1*b          h''(b) = -0.1
C       g(a) = a*(20 - 0.1*a - 0.1*b) - a*(10 - 0.05*a)
C       g'(a) = 10 - 0.1*b - 0.1*a                    g''(a) = -0.1
C
C     C and DC are what of h' and of its derivative by ASTAR does not
C     change within the inner iteration. They are worth their names:
C     without -Ofast a compiler may not take them out of the sums.
C
      SUBROUTINE EQLBRM(ASTAR, BSTAR, N)
      REAL ASTAR, BSTAR
      INTEGER N
      REAL A, DA, B, DB, C, DC, Y, DY, DASTAR
      INTEGER I, J, K
      DASTAR = 1.0
      B = BSTAR
      DO 30 I = 1, N
        C = 9.995-0.0999*ASTAR
        DC = -0.0999*DASTAR
        A = ASTAR
        DA = DASTAR
        DB = 0.0
        DO 20 J = 1, N
          DO 10 K = 1, N
            Y = C-0.1*B
            DY = DC-0.1*DB
            B = B-Y/(-0.1)
            DB = DB-DY/(-0.1)
   10     CONTINUE
          Y = 10.0-0.1*B-0.1*A
          DY = -0.1*DB-0.1*DA
          A = A-Y/(-0.1)
          DA = DA-DY/(-0.1)
   20   CONTINUE
        Y = A-ASTAR
        DY = DA-DASTAR
        ASTAR = ASTAR-Y/DY
   30 CONTINUE
      BSTAR = B
      END

      PROGRAM MAIN
      REAL ASTAR, BSTAR
      INTEGER N
      READ *, ASTAR
      READ *, BSTAR
      READ *, N
      CALL EQLBRM(ASTAR, BSTAR, N)
      PRINT *, ASTAR, BSTAR
      END
