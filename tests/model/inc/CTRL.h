C     xx_dummy :: stands for the controls, which are in files
C     fc       :: the cost
      COMMON /CTRL_DUMMY/ xx_dummy
      _RL xx_dummy
      COMMON /COST_FC/ fc
      _RL fc
