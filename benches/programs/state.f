      SUBROUTINE SETUP
      PARAMETER (M=512)
      COMMON /FIELD/ U(M,M), V(M,M), C(M,M), H, NX, NY
      DOUBLE PRECISION U, V, C, H
      NX = M
      NY = M
      H = 0.1D0
      DO 10 J = 1, M
      DO 10 I = 1, M
      C(I,J) = 1
      U(I,J) = I*J/(1D0*M*M)
   10 V(I,J) = 0
      END
C     A step of the heat equation.
      SUBROUTINE STEP(DT)
      PARAMETER (M=512)
      COMMON /FIELD/ U(M,M), V(M,M), C(M,M), H, NX, NY
      DOUBLE PRECISION U, V, C, H, DT
      DO 10 J = 2, NY-1
      DO 10 I = 2, NX-1
   10 V(I,J) = U(I,J) + DT*C(I,J)*(U(I+1,J) + U(I-1,J) + U(I,J+1)
     +   + U(I,J-1) - 4*U(I,J))/H**2
      CALL BACK
      END
      SUBROUTINE BACK
      PARAMETER (M=512)
      COMMON /FIELD/ U(M,M), V(M,M), C(M,M), H, NX, NY
      DOUBLE PRECISION U, V, C, H
      DO 10 J = 2, NY-1
      DO 10 I = 2, NX-1
   10 U(I,J) = V(I,J)
      END
      SUBROUTINE COUNTS(K)
      COMMON /TICKS/ N
      N = N + K
      K = N
      END
