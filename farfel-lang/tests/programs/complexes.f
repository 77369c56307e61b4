      PROGRAM CPLX
      COMPLEX Z, W, F
      COMPLEX*16 D
      INTRINSIC CONJG
      Z = (1.0, 2.0)
      W = CMPLX(3.0, -1.0)
      D = (1.5D0, -2.5D0)
      PRINT *, Z*W, Z/W, CONJG(Z), AIMAG(W), ABS((3.0, 4.0))
      PRINT *, D, F(Z), Z .EQ. W, -(0.0, 1.0)**2
      END

      COMPLEX FUNCTION F(Z)
      COMPLEX Z
      F = Z*Z + (0.0, -1.0)
      END
