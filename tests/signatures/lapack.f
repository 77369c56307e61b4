*> \brief \b DGETRF
*
*> \par Purpose:
*  =============
*>
*> \verbatim
*>
*> DGETRF computes an LU factorization of a general M-by-N matrix A
*> using partial pivoting with row interchanges.
*> \endverbatim
*
*  Arguments:
*  ==========
*
*> \param[in] M
*> \verbatim
*>          M is INTEGER
*>          The number of rows of the matrix A.  M >= 0.
*> \endverbatim
*>
*> \param[in] N
*> \verbatim
*>          N is INTEGER
*>          The number of columns of the matrix A.  N >= 0.
*> \endverbatim
*>
*> \param[in,out] A
*> \verbatim
*>          A is DOUBLE PRECISION array, dimension (LDA,N)
*>          On entry, the M-by-N matrix to be factored.
*>          On exit, the factors L and U.
*> \endverbatim
*>
*> \param[in] LDA
*> \verbatim
*>          LDA is INTEGER
*>          The leading dimension of the array A.  LDA >= max(1,M).
*> \endverbatim
*>
*> \param[out] IPIV
*> \verbatim
*>          IPIV is INTEGER array, dimension (min(M,N))
*>          The pivot indices; for 1 <= i <= min(M,N), row i of the
*>          matrix was interchanged with row IPIV(i).
*> \endverbatim
*>
*> \param[out] INFO
*> \verbatim
*>          INFO is INTEGER
*>          = 0:  successful exit
*>          < 0:  if INFO = -i, the i-th argument had an illegal value
*>          > 0:  if INFO = i, U(i,i) is exactly zero. The factorization
*>                has been completed, but the factor U is exactly
*>                singular.
*> \endverbatim
*
      SUBROUTINE DGETRF( M, N, A, LDA, IPIV, INFO )
      INTEGER            INFO, LDA, M, N
      INTEGER            IPIV( * )
      DOUBLE PRECISION   A( LDA, * )
      INTEGER            I, J, K, L
      DOUBLE PRECISION   T
      INFO = 0
      IF( M.LT.0 ) THEN
         INFO = -1
      ELSE IF( N.LT.0 ) THEN
         INFO = -2
      ELSE IF( LDA.LT.MAX( 1, M ) ) THEN
         INFO = -4
      END IF
      IF( INFO.NE.0 ) RETURN
      DO 50 K = 1, MIN( M, N )
         L = K
         DO 10 I = K + 1, M
            IF( ABS( A( I, K ) ).GT.ABS( A( L, K ) ) ) L = I
   10    CONTINUE
         IPIV( K ) = L
         IF( A( L, K ).EQ.0 ) THEN
            IF( INFO.EQ.0 ) INFO = K
            GO TO 50
         END IF
         DO 20 J = 1, N
            T = A( K, J )
            A( K, J ) = A( L, J )
            A( L, J ) = T
   20    CONTINUE
         DO 40 I = K + 1, M
            A( I, K ) = A( I, K ) / A( K, K )
            DO 30 J = K + 1, N
               A( I, J ) = A( I, J ) - A( I, K )*A( K, J )
   30       CONTINUE
   40    CONTINUE
   50 CONTINUE
      END

*  Purpose
*  =======
*
*  DSYEV computes all eigenvalues and, optionally, eigenvectors of a
*  real symmetric matrix A.
*
*  Arguments
*  =========
*
*  JOBZ    (input) CHARACTER*1
*          = 'N':  Compute eigenvalues only;
*          = 'V':  Compute eigenvalues and eigenvectors.
*
*  UPLO    (input) CHARACTER*1
*          = 'U':  Upper triangle of A is stored;
*          = 'L':  Lower triangle of A is stored.
*
*  N       (input) INTEGER
*          The order of the matrix A.  N >= 0.
*
*  A       (input/output) DOUBLE PRECISION array, dimension (LDA, N)
*          On entry, the symmetric matrix A. On exit, the
*          eigenvectors of the matrix A.
*
*  LDA     (input) INTEGER
*          The leading dimension of the array A.  LDA >= max(1,N).
*
*  W       (output) DOUBLE PRECISION array, dimension (N)
*          If INFO = 0, the eigenvalues in ascending order.
*
*  WORK    (workspace/output) DOUBLE PRECISION array, dimension (LWORK)
*          On exit, if INFO = 0, WORK(1) returns the optimal LWORK.
*
*  LWORK   (input) INTEGER
*          The length of the array WORK.  LWORK >= max(1,3*N-1).
*
*  INFO    (output) INTEGER
*          = 0:  successful exit
*          < 0:  if INFO = -i, the i-th argument had an illegal value
*          > 0:  if INFO = i, the algorithm failed to converge; i
*                off-diagonal elements of an intermediate tridiagonal
*                form did not converge to zero.
*
      SUBROUTINE DSYEV( JOBZ, UPLO, N, A, LDA, W, WORK, LWORK, INFO )
      CHARACTER          JOBZ, UPLO
      INTEGER            INFO, LDA, LWORK, N
      DOUBLE PRECISION   A( LDA, * ), W( * ), WORK( * )
      LOGICAL            LSAME
      EXTERNAL           LSAME
      INTEGER            I, J, K, SWEEP
      DOUBLE PRECISION   C, S, T, P, Q
      INFO = 0
      IF( .NOT.LSAME( JOBZ, 'N' ) .AND. .NOT.LSAME( JOBZ, 'V' ) )
     $   INFO = -1
      IF( N.LT.0 ) INFO = -3
      IF( LDA.LT.MAX( 1, N ) ) INFO = -5
      IF( LWORK.LT.MAX( 1, 3*N-1 ) ) INFO = -8
      IF( INFO.NE.0 ) RETURN
      IF( LSAME( UPLO, 'U' ) ) THEN
         DO 10 J = 1, N
         DO 10 I = J + 1, N
   10    A( I, J ) = A( J, I )
      END IF
*     Jacobi's method.
      DO 50 SWEEP = 1, 30
         DO 40 I = 1, N - 1
         DO 40 J = I + 1, N
            IF( A( J, I ).EQ.0 ) GO TO 40
            T = ( A( J, J ) - A( I, I ) ) / ( 2*A( J, I ) )
            T = SIGN( 1D0, T ) / ( ABS( T ) + SQRT( 1 + T**2 ) )
            C = 1 / SQRT( 1 + T**2 )
            S = T*C
            DO 20 K = 1, N
               P = A( K, I )
               Q = A( K, J )
               A( K, I ) = C*P - S*Q
   20       A( K, J ) = S*P + C*Q
            DO 30 K = 1, N
               P = A( I, K )
               Q = A( J, K )
               A( I, K ) = C*P - S*Q
   30       A( J, K ) = S*P + C*Q
   40    CONTINUE
   50 CONTINUE
      DO 60 I = 1, N
         WORK( I ) = A( I, I )
   60 W( I ) = WORK( I )
      END

      LOGICAL FUNCTION LSAME( CA, CB )
      CHARACTER          CA, CB
*     Is CA the same letter as CB, whatever its case?
      LSAME = CA.EQ.CB .OR. ICHAR( CA ).EQ.ICHAR( CB ) + 32
      END

*  DLANGE  returns the value of the one norm, or the Frobenius norm, or
*  the infinity norm, or the element of largest absolute value of a
*  real matrix A.
*
*  NORM    (input) CHARACTER*1
*          Specifies the value to be returned.
*
*  M       (input) INTEGER
*          The number of rows of the matrix A.
*
*  N       (input) INTEGER
*          The number of columns of the matrix A.
*
*  A       (input) DOUBLE PRECISION array, dimension (LDA,N)
*          The m by n matrix A.
*
*  LDA     (input) INTEGER
*          The leading dimension of the array A.
*
*  WORK    (workspace) DOUBLE PRECISION array, dimension (MAX(1,M))
*
      DOUBLE PRECISION FUNCTION DLANGE( NORM, M, N, A, LDA, WORK )
      CHARACTER          NORM
      INTEGER            LDA, M, N
      DOUBLE PRECISION   A( LDA, * ), WORK( * )
      INTEGER            I, J
      DLANGE = 0
      IF( NORM.EQ.'M' ) THEN
         DO 10 J = 1, N
         DO 10 I = 1, M
   10    DLANGE = MAX( DLANGE, ABS( A( I, J ) ) )
      ELSE
         DO 20 I = 1, M
   20    WORK( I ) = 0
         DO 30 J = 1, N
         DO 30 I = 1, M
   30    WORK( I ) = WORK( I ) + ABS( A( I, J ) )
         DO 40 I = 1, M
   40    DLANGE = MAX( DLANGE, WORK( I ) )
      END IF
      END

*> \brief \b DLACPY copies all or part of one array to another.
*
*> \param[in] UPLO
*> \verbatim
*>          UPLO is CHARACTER*1
*>          = 'U':      Upper triangular part
*>          Otherwise:  All of the matrix A
*> \endverbatim
*>
*> \param[in] M
*> \verbatim
*>          M is INTEGER
*>          The number of rows of the matrix A.  M >= 0.
*> \endverbatim
*>
*> \param[in] N
*> \verbatim
*>          N is INTEGER
*>          The number of columns of the matrix A.  N >= 0.
*> \endverbatim
*>
*> \param[in] A
*> \verbatim
*>          A is DOUBLE PRECISION array, dimension (LDA,N)
*>          The m by n matrix A.
*> \endverbatim
*>
*> \param[in] LDA
*> \verbatim
*>          LDA is INTEGER
*>          The leading dimension of the array A.  LDA >= max(1,M).
*> \endverbatim
*>
*> \param[out] B
*> \verbatim
*>          B is DOUBLE PRECISION array, dimension (LDB,N)
*>          On exit, B = A in the locations specified by UPLO.
*> \endverbatim
*>
*> \param[in] LDB
*> \verbatim
*>          LDB is INTEGER
*>          The leading dimension of the array B.  LDB >= max(1,M).
*> \endverbatim
*
      SUBROUTINE DLACPY( UPLO, M, N, A, LDA, B, LDB )
      CHARACTER          UPLO
      INTEGER            LDA, LDB, M, N
      DOUBLE PRECISION   A( LDA, * ), B( LDB, * )
      INTEGER            I, J, L
      DO 20 J = 1, N
         L = M
         IF( UPLO.EQ.'U' ) L = MIN( J, M )
         DO 10 I = 1, L
   10    B( I, J ) = A( I, J )
   20 CONTINUE
      END

*     y := alpha*A*x + beta*y
      SUBROUTINE DGEMV( M, N, ALPHA, A, LDA, X, INCX, BETA, Y, INCY )
      DOUBLE PRECISION   ALPHA, BETA
      INTEGER            INCX, INCY, LDA, M, N
      DOUBLE PRECISION   A( LDA, * ), X( * ), Y( * )
      INTEGER            I, J
      DO 20 I = 1, M
         Y( 1 + ( I-1 )*INCY ) = BETA*Y( 1 + ( I-1 )*INCY )
         DO 10 J = 1, N
   10    Y( 1 + ( I-1 )*INCY ) = Y( 1 + ( I-1 )*INCY )
     $      + ALPHA*A( I, J )*X( 1 + ( J-1 )*INCX )
   20 CONTINUE
      END
