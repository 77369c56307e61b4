#ifndef CPP_OPTIONS_H
#define CPP_OPTIONS_H
C Which packages there are. The command line may leave them out.
#ifndef NO_TRACER
# define ALLOW_TRACER
#endif
#undef ALLOW_ICE
#define _RL Real*8
#define _d D
#endif
