C     farfel: constant(I@AMAX)

C     farfel: derivative(@AXPY(N, A, X, INCX, Y, INCY), tangent = FARFEL_@AXPY_D, adjoint = FARFEL_@AXPY_B, in = (A, X, Y), out = (Y))
      SUBROUTINE FARFEL_@AXPY_D(N, A, AD, X, XD, INCX, Y, YD, INCY)
      TYPE A, AD, X(*), XD(*), Y(*), YD(*)
      CALL @AXPY(N, A, XD, INCX, YD, INCY)
      CALL @AXPY(N, AD, X, INCX, YD, INCY)
      CALL @AXPY(N, A, X, INCX, Y, INCY)
      END
      SUBROUTINE FARFEL_@AXPY_B(N, A, AB, X, XB, INCX, Y, YB, INCY)
      TYPE A, AB, X(*), XB(*), Y(*), YB(*), @DOT
      EXTERNAL @DOT
      AB = AB + @DOT(N, X, INCX, YB, INCY)
      CALL @AXPY(N, A, YB, INCY, XB, INCX)
      END

C     farfel: derivative(@SCAL(N, A, X, INCX), tangent = FARFEL_@SCAL_D, adjoint = FARFEL_@SCAL_B, in = (A, X), out = (X))
      SUBROUTINE FARFEL_@SCAL_D(N, A, AD, X, XD, INCX)
      TYPE A, AD, X(*), XD(*)
      CALL @SCAL(N, A, XD, INCX)
      IF (INCX .GT. 0) CALL @AXPY(N, AD, X, INCX, XD, INCX)
      CALL @SCAL(N, A, X, INCX)
      END
      SUBROUTINE FARFEL_@SCAL_B(N, A, AB, X, XB, INCX)
      TYPE A, AB, X(*), XB(*), @DOT
      EXTERNAL @DOT
      IF (INCX .GT. 0) AB = AB + @DOT(N, X, INCX, XB, INCX)
      CALL @SCAL(N, A, XB, INCX)
      END

C     farfel: derivative(@COPY(N, X, INCX, Y, INCY), tangent = FARFEL_@COPY_D, adjoint = FARFEL_@COPY_B, in = X, out = Y)
      SUBROUTINE FARFEL_@COPY_D(N, X, XD, INCX, Y, YD, INCY)
      TYPE X(*), XD(*), Y(*), YD(*)
      CALL @COPY(N, XD, INCX, YD, INCY)
      CALL @COPY(N, X, INCX, Y, INCY)
      END
      SUBROUTINE FARFEL_@COPY_B(N, X, XB, INCX, Y, YB, INCY)
      TYPE X(*), XB(*), Y(*), YB(*), ONE, ZERO
      ONE = 1
      ZERO = 0
      CALL @AXPY(N, ONE, YB, INCY, XB, INCX)
      CALL @SCAL(N, ZERO, YB, ABS(INCY))
      END

C     farfel: derivative(@SWAP(N, X, INCX, Y, INCY), tangent = FARFEL_@SWAP_D, adjoint = FARFEL_@SWAP_B, in = (X, Y), out = (X, Y))
      SUBROUTINE FARFEL_@SWAP_D(N, X, XD, INCX, Y, YD, INCY)
      TYPE X(*), XD(*), Y(*), YD(*)
      CALL @SWAP(N, XD, INCX, YD, INCY)
      CALL @SWAP(N, X, INCX, Y, INCY)
      END
      SUBROUTINE FARFEL_@SWAP_B(N, X, XB, INCX, Y, YB, INCY)
      TYPE X(*), XB(*), Y(*), YB(*)
      CALL @SWAP(N, XB, INCX, YB, INCY)
      END

C     farfel: derivative(@DOT(N, X, INCX, Y, INCY), tangent = FARFEL_@DOT_D, adjoint = FARFEL_@DOT_B, in = (X, Y), out = ())
      SUBROUTINE FARFEL_@DOT_D(N, X, XD, INCX, Y, YD, INCY, R, RD)
      TYPE X(*), XD(*), Y(*), YD(*), R, RD, @DOT
      EXTERNAL @DOT
      RD = @DOT(N, XD, INCX, Y, INCY) + @DOT(N, X, INCX, YD, INCY)
      R = @DOT(N, X, INCX, Y, INCY)
      END
      SUBROUTINE FARFEL_@DOT_B(N, X, XB, INCX, Y, YB, INCY, R, RB)
      TYPE X(*), XB(*), Y(*), YB(*), R, RB
      CALL @AXPY(N, RB, Y, INCY, XB, INCX)
      CALL @AXPY(N, RB, X, INCX, YB, INCY)
      RB = 0
      END

C     farfel: derivative(@NRM2(N, X, INCX), tangent = FARFEL_@NRM2_D, adjoint = FARFEL_@NRM2_B, in = X, out = ())
      SUBROUTINE FARFEL_@NRM2_D(N, X, XD, INCX, R, RD)
      TYPE X(*), XD(*), R, RD, @NRM2, @DOT
      EXTERNAL @NRM2, @DOT
      R = @NRM2(N, X, INCX)
      RD = 0
      IF (R .NE. 0) RD = @DOT(N, X, INCX, XD, INCX)/R
      END
      SUBROUTINE FARFEL_@NRM2_B(N, X, XB, INCX, R, RB)
      TYPE X(*), XB(*), R, RB, S, @NRM2
      EXTERNAL @NRM2
      S = @NRM2(N, X, INCX)
      IF (S .NE. 0) CALL @AXPY(N, RB/S, X, INCX, XB, INCX)
      RB = 0
      END

C     farfel: derivative(@ASUM(N, X, INCX), tangent = FARFEL_@ASUM_D, adjoint = FARFEL_@ASUM_B, in = X, out = ())
      SUBROUTINE FARFEL_@ASUM_D(N, X, XD, INCX, R, RD)
      TYPE X(*), XD(*), R, RD, ONE
      ONE = 1
      R = 0
      RD = 0
      IF (INCX .LE. 0) RETURN
      DO I = 1, 1 + (N - 1)*INCX, INCX
        RD = RD + SIGN(ONE, X(I))*XD(I)
        R = R + ABS(X(I))
      END DO
      END
      SUBROUTINE FARFEL_@ASUM_B(N, X, XB, INCX, R, RB)
      TYPE X(*), XB(*), R, RB, ONE
      ONE = 1
      IF (INCX .GT. 0) THEN
        DO I = 1, 1 + (N - 1)*INCX, INCX
          XB(I) = XB(I) + SIGN(ONE, X(I))*RB
        END DO
      END IF
      RB = 0
      END

C     farfel: derivative(@ROT(N, X, INCX, Y, INCY, C, S), tangent = FARFEL_@ROT_D, adjoint = FARFEL_@ROT_B, in = (X, Y, C, S), out = (X, Y))
      SUBROUTINE FARFEL_@ROT_D(N, X, XD, INCX, Y, YD, INCY, C, CD, S,
     +  SD)
      TYPE X(*), XD(*), Y(*), YD(*), C, CD, S, SD, T
      IX = 1
      IY = 1
      IF (INCX .LT. 0) IX = 1 - (N - 1)*INCX
      IF (INCY .LT. 0) IY = 1 - (N - 1)*INCY
      DO I = 1, N
        T = C*XD(IX) + S*YD(IY) + CD*X(IX) + SD*Y(IY)
        YD(IY) = C*YD(IY) - S*XD(IX) + CD*Y(IY) - SD*X(IX)
        XD(IX) = T
        IX = IX + INCX
        IY = IY + INCY
      END DO
      CALL @ROT(N, X, INCX, Y, INCY, C, S)
      END
      SUBROUTINE FARFEL_@ROT_B(N, X, XB, INCX, Y, YB, INCY, C, CB, S,
     +  SB)
      TYPE X(*), XB(*), Y(*), YB(*), C, CB, S, SB, T
      IX = 1
      IY = 1
      IF (INCX .LT. 0) IX = 1 - (N - 1)*INCX
      IF (INCY .LT. 0) IY = 1 - (N - 1)*INCY
      DO I = 1, N
        CB = CB + XB(IX)*X(IX) + YB(IY)*Y(IY)
        SB = SB + XB(IX)*Y(IY) - YB(IY)*X(IX)
        T = C*XB(IX) - S*YB(IY)
        YB(IY) = S*XB(IX) + C*YB(IY)
        XB(IX) = T
        IX = IX + INCX
        IY = IY + INCY
      END DO
      END
