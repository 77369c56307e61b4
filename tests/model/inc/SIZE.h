C     sNx, sNy :: points of the basin; OL :: width of the halo
      INTEGER sNx, sNy, OL, Nr
      PARAMETER ( sNx = 8, sNy = 6, OL = 2, Nr = 3 )
