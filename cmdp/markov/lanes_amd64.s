#include "textflag.h"

DATA magnitude<>+0(SB)/8, $0x7fffffffffffffff // all but the sign
GLOBL magnitude<>(SB), RODATA|NOPTR, $8

// func backupVector(directions *Lanes, returns *float64, d int, values *Lanes, next *int32, prob *float64, n int,
//	s, lo, hi int32, base, sum, size *Lanes) (out float64)
TEXT ·backupVector(SB), NOSPLIT, $0-104
	MOVQ         directions+0(FP), R8
	MOVQ         returns+8(FP), R9
	MOVQ         d+16(FP), CX
	VXORPD       Y0, Y0, Y0 // sum
	VXORPD       Y1, Y1, Y1 // size
	VXORPD       X2, X2, X2 // out
	MOVQ         base+72(FP), AX
	VMOVUPD      (AX), Y3
	VBROADCASTSD magnitude<>(SB), Y7

rewards:
	VBROADCASTSD (R9), Y4
	VMULPD       (R8), Y4, Y4
	VADDPD       Y4, Y0, Y0
	VANDPD       Y7, Y4, Y4
	VADDPD       Y4, Y1, Y1
	ADDQ         $8, R9
	ADDQ         $32, R8
	DECQ         CX
	JNZ          rewards

	MOVQ  values+24(FP), DX
	MOVQ  next+32(FP), DI
	MOVQ  prob+40(FP), SI
	MOVQ  n+48(FP), CX
	MOVL  s+56(FP), R10
	MOVL  lo+60(FP), R11
	MOVL  hi+64(FP), R12
	SUBL  R11, R12
	TESTQ CX, CX
	JZ    done

successors:
	MOVLQSX      (DI), AX
	CMPL         AX, R10
	JEQ          same
	VBROADCASTSD (SI), Y5
	VADDSD       X5, X2, X2
	MOVQ         AX, BX
	SHLQ         $5, BX
	VMOVUPD      (DX)(BX*1), Y4
	VSUBPD       Y3, Y4, Y4
	VMULPD       Y5, Y4, Y4
	VANDPD       Y7, Y4, Y6
	VADDPD       Y6, Y1, Y1
	SUBL         R11, AX
	CMPL         AX, R12
	JCS          same // within
	VADDPD       Y4, Y0, Y0

same:
	ADDQ $4, DI
	ADDQ $8, SI
	DECQ CX
	JNZ  successors

done:
	MOVQ    sum+80(FP), AX
	MOVQ    size+88(FP), BX
	VMOVUPD Y0, (AX)
	VMOVUPD Y1, (BX)
	VMOVSD  X2, out+96(FP)
	VZEROUPPER
	RET

// func relaxVector(directions *Lanes, returns *float64, d int, values, all *Lanes, next *int32, prob *float64, n int,
//	s, i int32, rounding float64, best, of *Lanes, at *[NumLanes]int32) (out float64)
TEXT ·relaxVector(SB), NOSPLIT, $0-112
	MOVQ         directions+0(FP), R8
	MOVQ         returns+8(FP), R9
	MOVQ         d+16(FP), CX
	VXORPD       Y0, Y0, Y0 // sum
	VXORPD       Y1, Y1, Y1 // size
	VXORPD       X2, X2, X2 // out
	VBROADCASTSD magnitude<>(SB), Y7

rewards:
	VBROADCASTSD (R9), Y4
	VMULPD       (R8), Y4, Y4
	VADDPD       Y4, Y0, Y0
	VANDPD       Y7, Y4, Y4
	VADDPD       Y4, Y1, Y1
	ADDQ         $8, R9
	ADDQ         $32, R8
	DECQ         CX
	JNZ          rewards

	MOVQ  values+24(FP), DX
	MOVQ  next+40(FP), DI
	MOVQ  prob+48(FP), SI
	MOVQ  n+56(FP), R13
	MOVL  s+64(FP), R10
	MOVQ  R13, CX
	TESTQ CX, CX
	JZ    relax

successors:
	MOVLQSX      (DI), AX
	CMPL         AX, R10
	JEQ          same
	VBROADCASTSD (SI), Y5
	VADDSD       X5, X2, X2
	SHLQ         $5, AX
	VMULPD       (DX)(AX*1), Y5, Y4
	VADDPD       Y4, Y0, Y0
	VANDPD       Y7, Y4, Y4
	VADDPD       Y4, Y1, Y1

same:
	ADDQ $4, DI
	ADDQ $8, SI
	DECQ CX
	JNZ  successors

relax:
	VXORPD   X4, X4, X4
	VUCOMISD X4, X2
	JEQ      end

	// sum − rounding·(size+|sum|), over out, where that is less than best
	VBROADCASTSD rounding+72(FP), Y6
	VANDPD       Y7, Y0, Y4
	VADDPD       Y4, Y1, Y1
	VMULPD       Y6, Y1, Y1
	VSUBPD       Y1, Y0, Y0
	VMOVDDUP     X2, X3
	VINSERTF128  $1, X3, Y3, Y3
	VDIVPD       Y3, Y0, Y0
	MOVQ         best+80(FP), AX
	VMOVUPD      (AX), Y4
	VCMPPD       $1, Y4, Y0, Y8 // less, in which directions
	VBLENDVPD    Y8, Y0, Y4, Y4
	VMOVUPD      Y4, (AX)
	MOVQ         at+96(FP), AX
	VEXTRACTF128 $1, Y8, X5
	VSHUFPS      $0x88, X5, X8, X5
	VBROADCASTSS i+68(FP), X4
	VMOVUPS      (AX), X6
	VBLENDVPS    X5, X4, X6, X6
	VMOVUPS      X6, (AX)

	MOVQ all+32(FP), DX
	MOVQ returns+8(FP), R9
	MOVQ of+88(FP), R8
	MOVQ d+16(FP), R11
	MOVQ R11, R12
	SHLQ $5, R12 // bytes of a state

returns:
	VBROADCASTSD (R9), Y0
	MOVQ         next+40(FP), DI
	MOVQ         prob+48(FP), SI
	MOVQ         R13, CX
	TESTQ        CX, CX
	JZ           sum

follow:
	MOVLQSX      (DI), AX
	CMPL         AX, R10
	JEQ          itself
	IMULQ        R12, AX
	VBROADCASTSD (SI), Y5
	VMULPD       (DX)(AX*1), Y5, Y4
	VADDPD       Y4, Y0, Y0

itself:
	ADDQ $4, DI
	ADDQ $8, SI
	DECQ CX
	JNZ  follow

sum:
	VDIVPD    Y3, Y0, Y0
	VMOVUPD   (R8), Y4
	VBLENDVPD Y8, Y0, Y4, Y4
	VMOVUPD   Y4, (R8)
	ADDQ      $8, R9
	ADDQ      $32, R8
	ADDQ      $32, DX
	DECQ      R11
	JNZ       returns

end:
	VMOVSD X2, out+104(FP)
	VZEROUPPER
	RET
