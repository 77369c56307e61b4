      INTEGER nTimeSteps, dumpFreq
      COMMON /PARAMS_I/ nTimeSteps, dumpFreq
      _RL deltaT, drag, gravity, solverTol, tooLarge
      COMMON /PARAMS_R/ deltaT, drag, gravity, solverTol, tooLarge
