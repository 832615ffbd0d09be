#include "go_asm.h"
#include "textflag.h"

DATA infinity<>+0(SB)/8, $0x7ff0000000000000
GLOBL infinity<>(SB), RODATA|NOPTR, $8

DATA one<>+0(SB)/8, $1.0
GLOBL one<>(SB), RODATA|NOPTR, $8

DATA half<>+0(SB)/8, $0.5
GLOBL half<>(SB), RODATA|NOPTR, $8

DATA magnitude<>+0(SB)/8, $0x7fffffffffffffff // all but the sign
GLOBL magnitude<>(SB), RODATA|NOPTR, $8

// What the functions on rows have in registers: R8 the rows, R10 a state, R13 a choice of it and R14 the end of its
// choices, DI and SI successors of the choice and their probabilities, R11 how many there are, R9 the returns; Y0 a sum,
// Y1 the sum of the magnitudes, X2 how likely the state is left, Y7 all bits but the sign, Y12 zeros, Y14 the rounding.

// START sets the registers of a function on rows.
#define START \
	VBROADCASTSD magnitude<>(SB), Y7; \
	VXORPD       Y12, Y12, Y12; \
	VBROADCASTSD laneRows_rounding(R8), Y14

// CHOICES sets R13 and R14.
#define CHOICES \
	MOVQ    laneRows_first(R8), AX; \
	MOVLQSX (AX)(R10*4), R13; \
	MOVLQSX 4(AX)(R10*4), R14

// ROW sets what the registers have of a choice, Y0 and Y1 to what a step gives, and X2 to 0.
#define ROW(reward) \
	MOVQ         laneRows_choice(R8), AX; \
	MOVLQSX      (AX)(R13*4), BX; \
	MOVQ         laneRows_offset(R8), AX; \
	MOVQ         (AX)(BX*8), DX; \
	MOVQ         8(AX)(BX*8), R11; \
	SUBQ         DX, R11; \
	MOVQ         laneRows_to(R8), DI; \
	LEAQ         (DI)(DX*4), DI; \
	MOVQ         laneRows_distribution(R8), AX; \
	TESTQ        AX, AX; \
	JEQ          2(PC); \
	MOVL         (AX)(BX*4), DX; \
	MOVQ         laneRows_prob(R8), SI; \
	LEAQ         (SI)(DX*8), SI; \
	MOVQ         laneRows_vector(R8), AX; \
	TESTQ        AX, AX; \
	JEQ          2(PC); \
	MOVL         (AX)(BX*4), BX; \
	MOVQ         laneRows_dim(R8), CX; \
	IMULQ        CX, BX; \
	MOVQ         laneRows_returns(R8), R9; \
	LEAQ         (R9)(BX*8), R9; \
	MOVQ         laneRows_directions(R8), DX; \
	VXORPD       Y0, Y0, Y0; \
	VXORPD       Y1, Y1, Y1; \
	VXORPD       X2, X2, X2; \
	XORL         BX, BX; \
reward: \
	VBROADCASTSD (R9)(BX*8), Y4; \
	VMULPD       (DX), Y4, Y4; \
	VADDPD       Y4, Y0, Y0; \
	VANDPD       Y7, Y4, Y4; \
	VADDPD       Y4, Y1, Y1; \
	ADDQ         $32, DX; \
	INCQ         BX; \
	CMPQ         BX, CX; \
	JNE          reward

// func relaxVector(z *laneRows, lo, hi int32) (at int32)
//
// Y10 has the best values, X11 the best choices.
TEXT ·relaxVector(SB), NOSPLIT, $0-20
	MOVQ    z+0(FP), R8
	MOVLQSX lo+8(FP), R10
	VMOVSD  one<>(SB), X13
	START

state:
	CMPL         R10, hi+12(FP)
	JGE          end
	CHOICES
	CMPQ         R13, R14
	JGE          end
	VBROADCASTSD infinity<>(SB), Y10
	MOVQ         R10, AX
	SHLQ         $4, AX
	ADDQ         laneRows_policy(R8), AX
	VMOVUPS      (AX), X11

choice:
	ROW(reward)
	TESTQ R11, R11
	JEQ   end
	MOVQ  laneRows_values(R8), DX
	XORL  CX, CX

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

// func loadVector(z *laneRows, f *laneFactors, right *Lanes, lo, hi int32)
//
// R12 is where the row of the state begins in f and R15 where its right-hand sides do; Y8 has the directions that take
// a choice, Y9 how likely the component is left, Y10 the right-hand sides of the values, X11 the choices.
TEXT ·loadVector(SB), NOSPLIT, $0-32
	MOVQ    z+0(FP), R8
	MOVQ    f+8(FP), R12
	ADDQ    $laneFactors_row, R12
	MOVQ    right+16(FP), R15
	MOVLQSX lo+24(FP), R10
	START

state:
	MOVL hi+28(FP), CX
	SUBL lo+24(FP), CX
	MOVQ R12, DX

row:
	VMOVUPD Y12, (DX)
	ADDQ    $32, DX
	DECL    CX
	JNZ     row
	MOVQ    laneRows_dim(R8), CX
	LEAQ    32(R15), DX

right:
	VMOVUPD Y12, (DX)
	ADDQ    $32, DX
	DECQ    CX
	JNZ     right
	VXORPD  Y9, Y9, Y9
	VXORPD  Y10, Y10, Y10
	MOVQ    R10, AX
	SHLQ    $4, AX
	ADDQ    laneRows_policy(R8), AX
	VMOVUPS (AX), X11
	CHOICES

choice:
	VMOVD       R13, X4
	VPSHUFD     $0, X4, X4
	VPCMPEQD    X11, X4, X4
	VPMOVSXDQ   X4, X8
	VPSHUFD     $0xee, X4, X4
	VPMOVSXDQ   X4, X4
	VINSERTF128 $1, X4, Y8, Y8
	VMOVMSKPD   Y8, AX
	TESTL       AX, AX
	JEQ         next
	ROW(reward)
	LEAQ        32(R15), DX
	XORL        BX, BX

returns:
	VBROADCASTSD (R9)(BX*8), Y4
	VANDPD       Y8, Y4, Y4
	VADDPD       (DX), Y4, Y4
	VMOVUPD      Y4, (DX)
	ADDQ         $32, DX
	INCQ         BX
	CMPQ         BX, CX
	JNE          returns
	XORL         CX, CX

successor:
	CMPQ         CX, R11
	JEQ          charge
	MOVLQSX      (DI)(CX*4), AX
	VBROADCASTSD (SI)(CX*8), Y5
	INCQ         CX
	CMPQ         AX, R10
	JEQ          successor
	VADDSD       X5, X2, X2
	MOVQ         AX, BX
	SHLQ         $5, BX
	ADDQ         laneRows_values(R8), BX
	VMULPD       (BX), Y5, Y4
	VANDPD       Y7, Y4, Y6
	VADDPD       Y6, Y1, Y1
	VANDPD       Y8, Y5, Y6
	MOVL         AX, BX
	SUBL         lo+24(FP), BX
	MOVL         hi+28(FP), DX
	SUBL         lo+24(FP), DX
	CMPL         BX, DX
	JCS          inside
	VADDPD       Y4, Y0, Y0
	VADDPD       Y6, Y9, Y9
	MOVQ         laneRows_dim(R8), BX
	IMULQ        BX, AX
	SHLQ         $5, AX
	ADDQ         laneRows_all(R8), AX
	LEAQ         32(R15), DX

outside:
	VMULPD  (AX), Y5, Y4
	VANDPD  Y8, Y4, Y4
	VADDPD  (DX), Y4, Y4
	VMOVUPD Y4, (DX)
	ADDQ    $32, AX
	ADDQ    $32, DX
	DECQ    BX
	JNZ     outside
	JMP     successor

inside:
	SHLQ    $5, BX
	VADDPD  (R12)(BX*1), Y6, Y6
	VMOVUPD Y6, (R12)(BX*1)
	JMP     successor

charge: // sum − rounding·(size+out·|value|)
	MOVQ        R10, AX
	SHLQ        $5, AX
	ADDQ        laneRows_values(R8), AX
	VANDPD      (AX), Y7, Y4
	VMOVDDUP    X2, X3
	VINSERTF128 $1, X3, Y3, Y3
	VMULPD      Y3, Y4, Y4
	VADDPD      Y4, Y1, Y1
	VMULPD      Y14, Y1, Y1
	VSUBPD      Y1, Y0, Y0
	VANDPD      Y8, Y0, Y0
	VADDPD      Y0, Y10, Y10

next:
	INCQ    R13
	CMPQ    R13, R14
	JNE     choice
	VMOVUPD Y10, (R15)
	MOVL    R10, AX
	SUBL    lo+24(FP), AX
	SHLQ    $5, AX
	ADDQ    f+8(FP), AX
	VMOVUPD Y9, laneFactors_leak(AX)
	MOVQ    laneRows_dim(R8), AX
	INCQ    AX
	SHLQ    $5, AX
	ADDQ    AX, R15
	ADDQ    $(32*const_denseStates), R12
	INCQ    R10
	CMPL    R10, hi+28(FP)
	JNE     state
	VZEROUPPER
	RET

// func proveVector(z *laneRows, lo, hi int32) (at int32)
//
// Y3 has the values of the state.
TEXT ·proveVector(SB), NOSPLIT, $0-20
	MOVQ         z+0(FP), R8
	MOVLQSX      lo+8(FP), R10
	VBROADCASTSD half<>(SB), Y13
	START

state:
	CMPL    R10, hi+12(FP)
	JGE     end
	CHOICES
	MOVQ    R10, AX
	SHLQ    $5, AX
	ADDQ    laneRows_values(R8), AX
	VMOVUPD (AX), Y3

choice:
	CMPQ R13, R14
	JEQ  proved
	ROW(reward)
	MOVQ laneRows_values(R8), DX
	XORL CX, CX

successor:
	CMPQ         CX, R11
	JEQ          charge
	MOVLQSX      (DI)(CX*4), AX
	VBROADCASTSD (SI)(CX*8), Y5
	INCQ         CX
	CMPQ         AX, R10
	JEQ          successor
	VADDSD       X5, X2, X2
	SHLQ         $5, AX
	VMOVUPD      (DX)(AX*1), Y4
	VSUBPD       Y3, Y4, Y4
	VMULPD       Y5, Y4, Y4
	VADDPD       Y4, Y0, Y0
	VANDPD       Y7, Y4, Y4
	VADDPD       Y4, Y1, Y1
	JMP          successor

charge: // sum − rounding·(size+out·|value|)/2
	VANDPD      Y7, Y3, Y4
	VMOVDDUP    X2, X5
	VINSERTF128 $1, X5, Y5, Y5
	VMULPD      Y5, Y4, Y4
	VADDPD      Y4, Y1, Y1
	VMULPD      Y14, Y1, Y1
	VMULPD      Y13, Y1, Y1
	VSUBPD      Y1, Y0, Y0
	VCMPPD      $2, Y0, Y12, Y4
	VMOVMSKPD   Y4, AX
	INCQ        R13
	CMPL        AX, $15
	JEQ         choice

end:
	MOVL R10, at+16(FP)
	VZEROUPPER
	RET

proved:
	INCQ R10
	JMP  state

// func eliminateVector(f *laneFactors) (ok bool)
//
// R8 is where leak has the state, R9 where its row has what is behind it, CX how much that is.
TEXT ·eliminateVector(SB), NOSPLIT, $0-9
	MOVQ   f+0(FP), R8
	MOVQ   laneFactors_states(R8), CX
	LEAQ   (laneFactors_row+32)(R8), R9
	ADDQ   $laneFactors_leak, R8
	VXORPD Y12, Y12, Y12

state:
	DECQ    CX
	VMOVUPD (R8), Y2
	VMOVAPD Y2, Y0         // out
	MOVQ    R9, DX
	MOVQ    CX, BX
	TESTQ   BX, BX
	JEQ     left

behind:
	VADDPD (DX), Y0, Y0
	ADDQ   $32, DX
	DECQ   BX
	JNZ    behind

left:
	VCMPPD    $1, Y0, Y12, Y4
	VMOVMSKPD Y4, AX
	CMPL      AX, $15
	JNE       never
	VMOVUPD   Y0, (laneFactors_out-laneFactors_leak)(R8)
	TESTQ     CX, CX
	JEQ       done
	MOVQ      CX, R10                                    // states behind
	MOVQ      R8, R11                                    // their leaks
	LEAQ      (32*const_denseStates-32)(R9), R12         // and what leads from there to the state

from:
	ADDQ      $32, R11
	VMOVUPD   (R12), Y1
	VCMPPD    $4, Y12, Y1, Y4
	VMOVMSKPD Y4, AX
	TESTL     AX, AX
	JEQ       none
	VDIVPD    Y0, Y1, Y1
	VMOVUPD   Y1, (R12)
	VMULPD    Y2, Y1, Y4
	VADDPD    (R11), Y4, Y4
	VMOVUPD   Y4, (R11)
	XORL      DX, DX
	MOVQ      CX, BX

to:
	VMULPD  (R9)(DX*1), Y1, Y4
	VADDPD  32(R12)(DX*1), Y4, Y4
	VMOVUPD Y4, 32(R12)(DX*1)
	ADDQ    $32, DX
	DECQ    BX
	JNZ     to

none:
	ADDQ $(32*const_denseStates), R12
	DECQ R10
	JNZ  from
	ADDQ $32, R8
	ADDQ $(32*const_denseStates+32), R9
	JMP  state

done:
	MOVB $1, ok+8(FP)
	VZEROUPPER
	RET

never:
	MOVB $0, ok+8(FP)
	VZEROUPPER
	RET

// ADDROW adds, to the right-hand sides at R10, those at R11 times a share at DX, if there is one. R9 has how many bytes
// they are.
#define ADDROW(column, none) \
	VMOVUPD   (DX), Y1; \
	VCMPPD    $4, Y12, Y1, Y4; \
	VMOVMSKPD Y4, AX; \
	TESTL     AX, AX; \
	JEQ       none; \
	XORL      BX, BX; \
column: \
	VMULPD    (R11)(BX*1), Y1, Y4; \
	VADDPD    (R10)(BX*1), Y4, Y4; \
	VMOVUPD   Y4, (R10)(BX*1); \
	ADDQ      $32, BX; \
	CMPQ      BX, R9; \
	JNE       column; \
none:

// func solveVector(f *laneFactors, right *Lanes, width int)
//
// DI is where the row of state CX begins.
TEXT ·solveVector(SB), NOSPLIT, $0-24
	MOVQ   f+0(FP), R8
	MOVQ   right+8(FP), R10
	MOVQ   width+16(FP), R9
	SHLQ   $5, R9
	LEAQ   laneFactors_row(R8), DI
	VXORPD Y12, Y12, Y12
	XORL   CX, CX

forward:
	MOVQ right+8(FP), R11
	MOVQ DI, DX

before:
	CMPQ R11, R10
	JEQ  solved
	ADDROW(sum, zero)
	ADDQ $32, DX
	ADDQ R9, R11
	JMP  before

solved:
	INCQ CX
	CMPQ CX, laneFactors_states(R8)
	JEQ  last
	ADDQ $(32*const_denseStates), DI
	ADDQ R9, R10
	JMP  forward

last:
	MOVQ R10, R12
	ADDQ R9, R12 // the end of all right-hand sides

backward:
	MOVQ CX, DX
	SHLQ $5, DX
	ADDQ DI, DX
	MOVQ R10, R11
	ADDQ R9, R11

behind:
	CMPQ R11, R12
	JEQ  divide
	ADDROW(total, nothing)
	ADDQ $32, DX
	ADDQ R9, R11
	JMP  behind

divide:
	MOVQ    CX, AX
	SHLQ    $5, AX
	VMOVUPD (laneFactors_out-32)(R8)(AX*1), Y1
	XORL    BX, BX

column:
	VMOVUPD (R10)(BX*1), Y4
	VDIVPD  Y1, Y4, Y4
	VMOVUPD Y4, (R10)(BX*1)
	ADDQ    $32, BX
	CMPQ    BX, R9
	JNE     column
	SUBQ    $(32*const_denseStates), DI
	SUBQ    R9, R10
	DECQ    CX
	JNZ     backward
	VZEROUPPER
	RET
