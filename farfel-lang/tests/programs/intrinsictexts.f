C     Intrinsic functions of characters and bits.
      PROGRAM TEXTS
      CHARACTER*10 S
      CHARACTER C*1, T*3
      LOGICAL B
      S = '  abc ab'
      T = 'ab'
      B = .TRUE.
      PRINT *, LEN(S), LEN_TRIM(S), '[', TRIM(S), ']', LNBLNK(S)
      PRINT *, '[', ADJUSTL(S), '][', ADJUSTR(S), ']'
      PRINT *, INDEX(S, 'ab'), INDEX(S, 'ab', .TRUE.)
      PRINT *, INDEX(S, 'ab', BACK=.TRUE.), INDEX(S, TRIM(T), B)
      PRINT *, SCAN(S, 'cb'), SCAN(S, 'cb', .TRUE.), VERIFY(S, ' a')
      PRINT *, VERIFY(S, ' ab', BACK=.TRUE.), REPEAT(T, 2), '|'
      PRINT *, ICHAR('A'), CHAR(66), IACHAR('a'), ACHAR(98)
      PRINT *, LGE('a', 'b'), LLT('a', 'b'), LLE('a', 'a')
      PRINT *, LGT('b', 'a')
      PRINT *, IAND(12, 10), IOR(12, 10), IEOR(12, 10), NOT(5)
      PRINT *, ISHFT(3, 2), ISHFT(12, -2), ISHFTC(3, 1, 2), IBSET(0, 4)
      PRINT *, IBCLR(31, 0), BTEST(4, 2), IBITS(52, 2, 3), AND(6, 3)
      PRINT *, OR(6, 3), XOR(6, 3), LSHIFT(1, 5), RSHIFT(64, 3)
      PRINT *, SHIFTL(1, 3), SHIFTR(-1, 28), SHIFTA(-8, 1), POPCNT(255)
      PRINT *, LEADZ(1), TRAILZ(8), POPPAR(7), MASKL(3), MASKR(3)
      PRINT *, MERGE_BITS(13, 18, 22), BGE(1, 2), DSHIFTL(1, 2, 3)
      I = 0
      CALL MVBITS(7, 0, 2, I, 4)
      C = TRANSFER(65, C)
      PRINT *, I, C, TRANSFER(1.0, I), ICHAR(NEW_LINE(C))
      END
