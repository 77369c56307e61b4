C     DATA in all forms.
      PROGRAM DATAS
      PARAMETER (N = 2, THREE = 3.0)
      REAL A(3), B(N, 3), C(4), D(2, 2), E(5)
      INTEGER H, W(2), U
      CHARACTER S*6, T(2)*3
      LOGICAL P, Q
      COMPLEX Z
      DOUBLE PRECISION X
      DATA A /N*1.5, THREE/
      DATA ((B(I, J), I = 1, N), J = 1, 3) /1, 2, 3, 4, 5, 6/
      DATA (C(I), I = 1, 3, 2), C(2), C(4) /2*9.0, -8.0, +7.0/
      DATA D(1, 1), D(2, 1), (D(I, 2), I = 1, 2) /4*0.5/
      DATA S(1:3) /'abc'/, S(4:) /'def'/, T /2*'xy'/
      DATA H /4HWXYZ/, W /4Habcd, 4Hefgh/
      DATA P, Q /.TRUE., .FALSE./, Z /(1.0, -2.0)/, X /1.0D-3/
      DATA (E(I), E(I+1), I = 1, 3, 2), E(5) /1., 2., 3., 4., 5./
      PRINT *, A, B
      PRINT *, C, D, S, T
      PRINT '(3A4)', H, W
      DATA U /17/
      PRINT *, P, Q, Z, X, E, U
      END
