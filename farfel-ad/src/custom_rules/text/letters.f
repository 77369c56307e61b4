C     Derivatives of the procedures of BLAS 1. A tangent FARFEL_@xxx_D does what the procedure
C     does, too; an adjoint FARFEL_@xxx_B finds its arguments as before the call.
C
C     Nothing here branches on derivatives, and zero factors are left to the procedures
C     themselves, which do not read what a zero multiplies: so these texts have derivatives.

C     Does a letter ask for this option?
      LOGICAL FUNCTION FARFEL_IS(C, OPTION)
      CHARACTER*(*) C
      CHARACTER*1 OPTION
      FARFEL_IS = C(1:1) .EQ. OPTION .OR.
     +  ICHAR(C(1:1)) .EQ. ICHAR(OPTION) + 32
      END

C     The letter of the other transposition.
      CHARACTER*1 FUNCTION FARFEL_FLIP(TRANS)
      CHARACTER*(*) TRANS
      LOGICAL FARFEL_IS
      EXTERNAL FARFEL_IS
      FARFEL_FLIP = 'N'
      IF (FARFEL_IS(TRANS, 'N')) FARFEL_FLIP = 'T'
      END
