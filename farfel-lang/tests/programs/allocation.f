C     Arrays whose bounds are given at run time.
      PROGRAM ALLOCS
      REAL, ALLOCATABLE :: A(:), B(:,:)
      INTEGER, DIMENSION(:), ALLOCATABLE :: C
      DOUBLE PRECISION D
      ALLOCATABLE D(:)
      ALLOCATABLE E(:)
      INTEGER ST
      N = 4
      PRINT *, ALLOCATED(A), ALLOCATED(C)
      ALLOCATE (A(N), B(0:N-2, 2), STAT=ST)
      ALLOCATE (C(-1:1))
      ALLOCATE (D(2), E(N+1))
      A = 1.5
      B = 2
      DO 10 I = -1, 1
   10 C(I) = I*I
      D(2) = 3.0D0
      E(5) = 6
      PRINT *, ST, SIZE(A), SIZE(B), LBOUND(B, 1), UBOUND(B, 1)
      PRINT *, SUM(A), SUM(B), C, D(2), E(5)
      CALL FILL(A, N)
      PRINT *, A
      DEALLOCATE (A)
      DEALLOCATE (B, C, STAT=ST)
      IF (.NOT. ALLOCATED(A)) ALLOCATE (A(1))
      A(1) = 5
      PRINT *, ST, SIZE(A), ALLOCATED(B), A
      DEALLOCATE (D, E)
      END
C     Adjustable and automatic arrays, with bounds from expressions.
      SUBROUTINE FILL(A, N)
      INTEGER N
      REAL A(N), W(2*N-1), V(0:MAX(N, 2))
      CHARACTER*(N) S
      DO I = 1, 2*N-1
         W(I) = I
      END DO
      V(N) = 0.5
      S = 'abcdefgh'
      A(1:N) = W(N:2*N-1) + V(N)
      PRINT *, S, LEN(S), SIZE(V), SIZE(W)
      END
