C     Statement functions, procedures as arguments, ENTRY.
      PROGRAM FUNCS
      EXTERNAL CUBE, TWICE
      INTRINSIC SIN, ABS
      REAL CUBE, APPLY
      SQ(X) = X*X
      HYP(A, B) = SQRT(SQ(A) + SQ(B))
      PRINT *, HYP(3.0, 4.0), SQ(2.0)
      PRINT *, APPLY(CUBE, 2.0), APPLY(SIN, 0.0), APPLY(ABS, -3.0)
      CALL VISIT(TWICE, 5.0)
      CALL FIRST(1.0)
      CALL SECND
      PRINT *, AREA(2.0), CIRCUM(2.0), NOARG()
      END

      REAL FUNCTION CUBE(X)
      CUBE = X**3
      END

      FUNCTION APPLY(F, X)
      EXTERNAL F
      APPLY = F(X)
      RETURN
      END

      SUBROUTINE VISIT(S, X)
      EXTERNAL S
      CALL S(X)
      END

      SUBROUTINE TWICE(X)
      PRINT *, 2.0*X
      END

      SUBROUTINE FIRST(X)
      SAVE Y
      Y = X + 1.0
      PRINT *, 'first', Y
      RETURN
      ENTRY SECND
      PRINT *, 'second', Y
      END

      FUNCTION AREA(R)
      AREA = 3.0*R*R
      RETURN
      ENTRY CIRCUM(R)
      CIRCUM = 6.0*R
      END

      FUNCTION NOARG()
      NOARG = 17
      END
