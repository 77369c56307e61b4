C     Only the package itself includes this.
      COMMON /TRACER_FIELDS/ ptr, ptrMean
      _RL ptr(1-OL:sNx+OL, 1-OL:sNy+OL, Nr)
      _RL ptrMean
      LOGICAL ptrIsSet
      COMMON /TRACER_FLAGS/ ptrIsSet
