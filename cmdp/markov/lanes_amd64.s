#include "go_asm.h"
#include "textflag.h"

DATA infinity<>+0(SB)/8, $0x7ff0000000000000
GLOBL infinity<>(SB), RODATA|NOPTR, $8

DATA one<>+0(SB)/8, $1.0
GLOBL one<>(SB), RODATA|NOPTR, $8

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

// func relaxVector(z *laneRows, lo, hi int32) (at int32)
//
// R8 rows, R10 state, R13 choice, R14 end of the choices; Y10 best values, X11 best choices.
TEXT ·relaxVector(SB), NOSPLIT, $0-20
	MOVQ         z+0(FP), R8
	MOVLQSX      lo+8(FP), R10
	VBROADCASTSD magnitude<>(SB), Y7
	VXORPD       X12, X12, X12
	VMOVSD       one<>(SB), X13
	VBROADCASTSD laneRows_rounding(R8), Y14

state:
	CMPL         R10, hi+12(FP)
	JGE          end
	MOVQ         laneRows_first(R8), AX
	MOVLQSX      (AX)(R10*4), R13
	MOVLQSX      4(AX)(R10*4), R14
	CMPQ         R13, R14
	JGE          end
	VBROADCASTSD infinity<>(SB), Y10
	MOVQ         R10, AX
	SHLQ         $4, AX
	ADDQ         laneRows_policy(R8), AX
	VMOVUPS      (AX), X11

choice:
	MOVQ    laneRows_choice(R8), AX
	MOVLQSX (AX)(R13*4), BX
	MOVQ    laneRows_offset(R8), AX
	MOVQ    (AX)(BX*8), DX
	MOVQ    8(AX)(BX*8), R11
	SUBQ    DX, R11             // successors
	JEQ     end
	MOVQ    laneRows_to(R8), DI
	LEAQ    (DI)(DX*4), DI
	MOVQ    laneRows_distribution(R8), AX
	TESTQ   AX, AX
	JEQ     probabilities
	MOVL    (AX)(BX*4), DX

probabilities:
	MOVQ  laneRows_prob(R8), SI
	LEAQ  (SI)(DX*8), SI
	MOVQ  laneRows_vector(R8), AX
	TESTQ AX, AX
	JEQ   rewards
	MOVL  (AX)(BX*4), BX

rewards:
	MOVQ   laneRows_dim(R8), CX
	IMULQ  CX, BX
	MOVQ   laneRows_returns(R8), R9
	LEAQ   (R9)(BX*8), R9
	MOVQ   laneRows_directions(R8), DX
	VXORPD Y0, Y0, Y0                  // sum
	VXORPD Y1, Y1, Y1                  // size
	VXORPD X2, X2, X2                  // out
	XORL   BX, BX

reward:
	VBROADCASTSD (R9)(BX*8), Y4
	VMULPD       (DX), Y4, Y4
	VADDPD       Y4, Y0, Y0
	VANDPD       Y7, Y4, Y4
	VADDPD       Y4, Y1, Y1
	ADDQ         $32, DX
	INCQ         BX
	CMPQ         BX, CX
	JNE          reward
	MOVQ         laneRows_values(R8), DX
	XORL         CX, CX

successor:
	MOVLQSX      (DI)(CX*4), AX
	CMPQ         AX, R10
	JEQ          same
	VBROADCASTSD (SI)(CX*8), Y5
	VADDSD       X5, X2, X2
	SHLQ         $5, AX
	VMULPD       (DX)(AX*1), Y5, Y4
	VADDPD       Y4, Y0, Y0
	VANDPD       Y7, Y4, Y4
	VADDPD       Y4, Y1, Y1

same:
	INCQ     CX
	CMPQ     CX, R11
	JNE      successor
	VUCOMISD X12, X2
	JEQ      end       // for ever

	// sum − rounding·(size+|sum|), over out, where that is less than the best
	VANDPD      Y7, Y0, Y4
	VADDPD      Y4, Y1, Y1
	VMULPD      Y14, Y1, Y1
	VSUBPD      Y1, Y0, Y0
	VUCOMISD    X13, X2
	JEQ         better     // x/1 is x
	VMOVDDUP    X2, X3
	VINSERTF128 $1, X3, Y3, Y3
	VDIVPD      Y3, Y0, Y0

better:
	VCMPPD       $1, Y10, Y0, Y8 // in which directions
	VBLENDVPD    Y8, Y0, Y10, Y10
	VEXTRACTF128 $1, Y8, X5
	VSHUFPS      $0x88, X5, X8, X5
	VMOVD        R13, X4
	VPSHUFD      $0, X4, X4
	VBLENDVPS    X5, X4, X11, X11
	MOVQ         laneRows_follow(R8), R15
	TESTQ        R15, R15
	JEQ          next
	MOVQ         laneRows_all(R8), DX
	MOVQ         R15, R12
	SHLQ         $5, R12                   // bytes of a state
	MOVQ         R10, BX
	IMULQ        R12, BX
	ADDQ         DX, BX

returns:
	VBROADCASTSD (R9), Y0
	XORL         CX, CX

follow:
	MOVLQSX      (DI)(CX*4), AX
	CMPQ         AX, R10
	JEQ          itself
	IMULQ        R12, AX
	VBROADCASTSD (SI)(CX*8), Y5
	VMULPD       (DX)(AX*1), Y5, Y4
	VADDPD       Y4, Y0, Y0

itself:
	INCQ     CX
	CMPQ     CX, R11
	JNE      follow
	VUCOMISD X13, X2
	JEQ      keep
	VDIVPD   Y3, Y0, Y0

keep:
	VMOVUPD   (BX), Y4
	VBLENDVPD Y8, Y0, Y4, Y4
	VMOVUPD   Y4, (BX)
	ADDQ      $8, R9
	ADDQ      $32, BX
	ADDQ      $32, DX
	DECQ      R15
	JNZ       returns

next:
	INCQ         R13
	CMPQ         R13, R14
	JNE          choice
	VBROADCASTSD infinity<>(SB), Y4
	VCMPPD       $1, Y4, Y10, Y4
	VMOVMSKPD    Y4, AX
	CMPL         AX, $15
	JNE          end
	MOVQ         R10, AX
	SHLQ         $5, AX
	ADDQ         laneRows_values(R8), AX
	VMOVUPD      Y10, (AX)
	MOVQ         R10, AX
	SHLQ         $4, AX
	ADDQ         laneRows_policy(R8), AX
	VMOVUPS      X11, (AX)
	INCQ         R10
	JMP          state

end:
	MOVL R10, at+16(FP)
	VZEROUPPER
	RET
