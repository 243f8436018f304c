#include "textflag.h"

// func moveClock()
//
// runtime.vdsoClockgettimeSym is what time.now and runtime.nanotime call, see runtime/time_linux_amd64.s. It is a C function.
TEXT ·moveClock(SB), NOSPLIT, $0-0
	MOVQ runtime·vdsoClockgettimeSym(SB), AX
	MOVQ AX, ·kernels(SB)
	TESTQ AX, AX
	JEQ  none
	LEAQ ·clockGettime(SB), AX
	MOVQ AX, runtime·vdsoClockgettimeSym(SB)

none:
	RET

// int clock_gettime(clockid_t DI, struct timespec *SI), on a stack of the system.
TEXT ·clockGettime(SB), NOSPLIT|NOFRAME, $0-0
	PUSHQ DI
	PUSHQ SI
	SUBQ  $8, SP // calls want a stack of 16 bytes
	MOVQ  ·kernels(SB), AX
	CALL  AX
	ADDQ  $8, SP
	POPQ  SI
	POPQ  DI
	TESTL DI, DI // CLOCK_REALTIME
	JNE   done
	MOVQ  ·ahead(SB), CX
	ADDQ  CX, 0(SI) // seconds

done:
	RET
