      COMMON /DYNVARS/ eta, uVel, tau, cgIters
      _RL eta (1-OL:sNx+OL, 1-OL:sNy+OL)
      _RL uVel(1-OL:sNx+OL, 1-OL:sNy+OL)
      _RL tau (1-OL:sNx+OL, 1-OL:sNy+OL)
      INTEGER cgIters
