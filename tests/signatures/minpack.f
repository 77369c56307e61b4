      SUBROUTINE LMDIF1(FCN, M, N, X, FVEC, TOL, INFO, IWA, WA, LWA)
      INTEGER M, N, INFO, LWA, IWA(N)
      DOUBLE PRECISION TOL, X(N), FVEC(M), WA(LWA)
      EXTERNAL FCN
C     Minimizes the sum of the squares of M functions in N variables.
C
C       fcn is the name of the user-supplied subroutine which
C         calculates the functions.
C
C       m is a positive integer input variable set to the number
C         of functions.
C
C       n is a positive integer input variable set to the number
C         of variables. n must not exceed m.
C
C       x is an array of length n. on input x must contain
C         an initial estimate of the solution vector. on output x
C         contains the final estimate of the solution vector.
C
C       fvec is an output array of length m which contains
C         the functions evaluated at the output x.
C
C       tol is a nonnegative input variable. the algorithm ends
C         when the step is at most tol.
C
C       info is an integer output variable. if the user has
C         ended execution, info is set to the (negative)
C         value of iflag. otherwise, info is set as follows.
C
C         info = 0   improper input parameters.
C
C         info = 1   the step is at most tol.
C
C         info = 2   there were too many iterations.
C
C       iwa is an integer work array of length n.
C
C       wa is a work array of length lwa.
C
C       lwa is a positive integer input variable not less than
C         m*n+n*n+2*n+m.
      INTEGER IFLAG, ITER, MP
      DOUBLE PRECISION ENORM
      INFO = 0
      IF (N .LE. 0 .OR. M .LT. N .OR. TOL .LT. 0) RETURN
      IF (LWA .LT. M*N + N*N + 2*N + M) RETURN
      MP = M*N + 1
      IFLAG = 1
      CALL FCN(M, N, X, FVEC, IFLAG)
      DO 20 ITER = 1, 100
        CALL FDJAC2(FCN, M, N, X, FVEC, WA, M, IFLAG, 1D-14,
     *              WA(MP + N*N + 2*N))
        CALL STEP(M, N, WA, FVEC, WA(MP), WA(MP + N*N), IWA)
        DO 10 J = 1, N
   10   X(J) = X(J) - WA(MP + N*N + J - 1)
        CALL FCN(M, N, X, FVEC, IFLAG)
        INFO = 1
        IF (ENORM(N, WA(MP + N*N)) .LE. TOL) RETURN
   20 CONTINUE
      INFO = 2
      END

      SUBROUTINE FDJAC2(FCN, M, N, X, FVEC, FJAC, LDFJAC, IFLAG,
     *                  EPSFCN, WA)
      INTEGER M, N, LDFJAC, IFLAG
      DOUBLE PRECISION EPSFCN
      DOUBLE PRECISION X(N), FVEC(M), FJAC(LDFJAC,N), WA(M)
C     Approximates the m by n jacobian matrix by forward differences.
C
C       x is an input array of length n.
C
C       fvec is an input array of length m which must contain the
C         functions evaluated at x.
C
C       fjac is an output m by n array which contains the
C         approximation to the jacobian matrix evaluated at x.
C
C       ldfjac is a positive integer input variable not less than m
C         which specifies the leading dimension of the array fjac.
C
C       iflag is an integer variable which can be used to terminate
C         the execution.
C
C       wa is a work array of length m.
      INTEGER I, J
      DOUBLE PRECISION H, T
      EXTERNAL FCN
      DO 20 J = 1, N
        T = X(J)
        H = SQRT(EPSFCN)*MAX(1D0, ABS(T))
        X(J) = T + H
        CALL FCN(M, N, X, WA, IFLAG)
        IF (IFLAG .LT. 0) RETURN
        X(J) = T
        DO 10 I = 1, M
   10   FJAC(I, J) = (WA(I) - FVEC(I))/H
   20 CONTINUE
      END

C     The step of Gauss and Newton, by Cholesky's method.
      SUBROUTINE STEP(M, N, FJAC, FVEC, R, S, IPVT)
      INTEGER M, N, IPVT(N), I, J, K
      DOUBLE PRECISION FJAC(M,N), FVEC(M), R(N,N), S(N)
      DO 30 J = 1, N
        IPVT(J) = J
        S(J) = 0
        DO 10 K = 1, M
   10   S(J) = S(J) + FJAC(K, J)*FVEC(K)
        DO 30 I = 1, N
          R(I, J) = 0
          DO 20 K = 1, M
   20     R(I, J) = R(I, J) + FJAC(K, I)*FJAC(K, J)
   30 CONTINUE
      DO 60 J = 1, N
        DO 40 K = 1, J - 1
   40   R(J, J) = R(J, J) - R(J, K)**2
        R(J, J) = SQRT(R(J, J))
        DO 60 I = J + 1, N
          DO 50 K = 1, J - 1
   50     R(I, J) = R(I, J) - R(I, K)*R(J, K)
   60 R(I, J) = R(I, J)/R(J, J)
      DO 80 J = 1, N
        DO 70 K = 1, J - 1
   70   S(J) = S(J) - R(J, K)*S(K)
   80 S(J) = S(J)/R(J, J)
      DO 100 J = N, 1, -1
        DO 90 K = J + 1, N
   90   S(J) = S(J) - R(K, J)*S(K)
  100 S(J) = S(J)/R(J, J)
      END

      DOUBLE PRECISION FUNCTION ENORM(N, X)
      INTEGER N
      DOUBLE PRECISION X(N)
C     The euclidean norm of x.
      INTEGER I
      ENORM = 0
      DO 10 I = 1, N
   10 ENORM = ENORM + X(I)**2
      ENORM = SQRT(ENORM)
      END
