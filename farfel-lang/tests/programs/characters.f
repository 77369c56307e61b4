      PROGRAM CHARS
      CHARACTER*10 A, B*4, C(2)*3
      CHARACTER D, E*2
      CHARACTER*(5) F
      CHARACTER*80 LONG
      CHARACTER*8 PAD
      A = 'it''s'
      B = "say"
      C(1) = A(1:3)
      C(2)(2:3) = 'zz'
      C(2)(:1) = 'y'
      D = A(4:)
      E = A(:2)
      F = PAD(B)
      PRINT *, A, '|', B, '|', C, '|', D, '|', E, '|', F, '|'
      LONG = 'This constant is much longer than a line of sixty-six colu
     +mns can hold,   with blanks'
      PRINT *, LONG
      PRINT *, 'short' // ' and ' // 'a constant that has to go to the n
     +ext' // ' line' // A(1:1) // CHAR(ICHAR('A') + 1)
      PRINT *, INDEX('abcabc', 'ca'), LEN(A), LGE('b', 'a'), '!', ''''
      PRINT *, '                                                        
     +   e'
      END

      CHARACTER*8 FUNCTION PAD(S)
      CHARACTER*(*) S
      PAD = S // '----'
      END

      CHARACTER*(*) FUNCTION TWICE(S)
      CHARACTER S*(*)
      TWICE = S // S
      END
