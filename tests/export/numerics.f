C     The scalar product of two vectors.
      DOUBLE PRECISION FUNCTION DOT(N, X, Y)
      INTEGER N, I
      DOUBLE PRECISION X(N), Y(N)
      DOT = 0
      DO 10 I = 1, N
   10 DOT = DOT + X(I)*Y(I)
      END

      DOUBLE PRECISION FUNCTION COST(N, X)
      INTEGER N, I
      DOUBLE PRECISION X(N)
      COST = 0
      DO 10 I = 1, N
   10 COST = COST + I*X(I)**2
      END

C     Newton's method: a zero of F.
      SUBROUTINE NEWTON(F, FD, X, TOL, ITER)
      DOUBLE PRECISION F, X, TOL, Y, YPRIME
      EXTERNAL F, FD
!farfel: derivative(F(X), tangent = FD, in = X)
      DO 10 ITER = 1, 50
      ADF(X)
      Y = F(X)
      END ADF(YPRIME = TANGENT(Y))
      IF (ABS(Y) .LT. TOL) RETURN
   10 X = X - Y/YPRIME
      STOP 'NO ZERO'
      END

      SUBROUTINE MATVEC(M, N, LDA, A, X, Y)
      DOUBLE PRECISION A(LDA, N), X(N), Y(M)
      DO 10 I = 1, M
      Y(I) = 0
      DO 10 J = 1, N
   10 Y(I) = Y(I) + A(I, J)*X(J)
      END

      SUBROUTINE MEANS(N, X, MEAN, ANY, NAME, Z)
      REAL X(N), MEAN
      LOGICAL ANY
      CHARACTER*8 NAME
      COMPLEX Z
      MEAN = SUM(X)/N
      ANY = MEAN .GT. 1
      NAME = 'mean'
      Z = CONJG(Z)
      END

      SUBROUTINE PICK(IDX, N, X, V)
      DOUBLE PRECISION X(N), V
      V = X(IDX)
      END

      SUBROUTINE HALT(I)
      STOP 3
      END

      SUBROUTINE OPENIT(NAME)
      CHARACTER*(*) NAME
      OPEN (77, FILE=NAME, STATUS='OLD')
      CLOSE (77)
      END

      INTEGER FUNCTION NEXT()
      SAVE K
      DATA K /0/
      K = K + 1
      NEXT = K
      END

      SUBROUTINE MARK(N, L, T)
      LOGICAL L(N), T(N)
      DO 10 I = 1, N
   10 T(I) = .NOT. L(I)
      END

C     dy/dt = f(t, y), by Euler's method.
      SUBROUTINE EULER(F, N, T, Y, H, DY)
      DOUBLE PRECISION T, Y(N), H, DY(N)
      EXTERNAL F
      CALL F(N, T, Y, DY)
      DO 10 I = 1, N
   10 Y(I) = Y(I) + H*DY(I)
      T = T + H
      END

      SUBROUTINE ADD(N, X, Y)
      DOUBLE PRECISION X(N), Y(N)
      DO 10 I = 1, N
   10 Y(I) = Y(I) + X(I)
      END

      SUBROUTINE TABLE(M, N, B)
      INTEGER B(0:M - 1, 2*N/2)
      DO 10 J = 1, 2*N/2
      DO 10 I = 0, M - 1
   10 B(I, J) = 10*I + J
      END

C     Solves a diagonal system.
C
C  input parameters:
C    D    : array,length n, the diagonal.
C    B    : array,length n, the right-hand side.
C    WRK  : array of dimension lwrk. used as workspace.
C    LWRK : integer, the dimension of WRK. LWRK >= N+1
C  output parameters:
C    X    : array,length n, the solution.
C    IER  : error flag
C      IER = 0 : normal return
C      IER = 1 : the matrix is singular
C      IER = 10 : invalid input data
      SUBROUTINE SOLVE(N, D, B, X, WRK, LWRK, IER)
      DOUBLE PRECISION D(N), B(N), X(*), WRK(LWRK)
      IER = 10
      IF (N .LT. 1 .OR. LWRK .LE. N) RETURN
      IER = 1
      DO 10 I = 1, N
      WRK(I) = D(I)
      IF (WRK(I) .EQ. 0) RETURN
   10 X(I) = B(I)/WRK(I)
      IER = 0
      END
