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

// SLOT sets a register to where the state of another one stands.
#define SLOT(s, at) \
	MOVL    s, at;                       \
	ANDL    laneRows_mask(R8), at;       \
	CMPL    s, laneRows_rest(R8);        \
	CMOVLEQ laneRows_slot(R8), at

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
	MOVL         R10, AX
	ANDL         laneRows_mask(R8), AX
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
	SLOT(AX, BX)
	SHLQ         $5, BX
	VMULPD       (DX)(BX*1), Y5, Y4
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
	MOVL         R10, BX
	ANDL         laneRows_mask(R8), BX
	IMULQ        R12, BX
	ADDQ         DX, BX

returns:
	VBROADCASTSD (R9), Y0
	XORL         CX, CX

follow:
	MOVLQSX      (DI)(CX*4), AX
	CMPQ         AX, R10
	JEQ          itself
	SLOT(AX, R14)
	IMULQ        R12, R14
	VBROADCASTSD (SI)(CX*8), Y5
	VMULPD       (DX)(R14*1), Y5, Y4
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
	MOVQ      laneRows_first(R8), AX
	MOVLQSX   4(AX)(R10*4), R14

next:
	INCQ         R13
	CMPQ         R13, R14
	JNE          choice
	VBROADCASTSD infinity<>(SB), Y4
	VCMPPD       $1, Y4, Y10, Y4
	VMOVMSKPD    Y4, AX
	CMPL         AX, $15
	JNE          end
	MOVL         R10, AX
	ANDL         laneRows_mask(R8), AX
	MOVQ         AX, BX
	SHLQ         $5, AX
	ADDQ         laneRows_values(R8), AX
	VMOVUPD      Y10, (AX)
	SHLQ         $4, BX
	ADDQ         laneRows_policy(R8), BX
	VMOVUPS      X11, (BX)
	INCQ         R10
	JMP          state

end:
	MOVL R10, at+16(FP)
	VZEROUPPER
	RET

// func loadVector(z *laneRows, f *laneFeedback, lo, hi int32) (ok bool)
//
// R12 is where the columns of the state begin and R15 where they end; Y8 has the directions that take a choice, Y9 how
// likely the state is left in each direction, X11 the choices.
TEXT ·loadVector(SB), NOSPLIT, $0-25
	MOVQ    z+0(FP), R8
	MOVQ    f+8(FP), AX
	MOVQ    laneFeedback_columns(AX), R12
	MOVLQSX lo+16(FP), R10
	START

state:
	MOVQ    f+8(FP), AX
	MOVQ    laneFeedback_width(AX), R15
	SHLQ    $5, R15
	ADDQ    R12, R15
	MOVQ    R12, DX

clear:
	VMOVUPD Y12, (DX)
	ADDQ    $32, DX
	CMPQ    DX, R15
	JNE     clear
	VXORPD  Y9, Y9, Y9
	MOVL    R10, AX
	ANDL    laneRows_mask(R8), AX
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
	MOVQ        CX, DX
	SHLQ        $5, DX
	NEGQ        DX
	ADDQ        R15, DX

returns:
	VBROADCASTSD (R9), Y4
	VANDPD       Y8, Y4, Y4
	VADDPD       (DX), Y4, Y4
	VMOVUPD      Y4, (DX)
	ADDQ         $8, R9
	ADDQ         $32, DX
	CMPQ         DX, R15
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
	SLOT(AX, R9)
	MOVQ         R9, BX
	SHLQ         $5, BX
	ADDQ         laneRows_values(R8), BX
	VMULPD       (BX), Y5, Y4
	VANDPD       Y7, Y4, Y6
	VADDPD       Y6, Y1, Y1
	VANDPD       Y8, Y5, Y5
	MOVL         AX, BX
	SUBL         lo+16(FP), BX
	MOVL         hi+20(FP), DX
	SUBL         lo+16(FP), DX
	CMPL         BX, DX
	JCS          inside
	VADDPD       Y4, Y0, Y0
	MOVQ         laneRows_dim(R8), BX
	MOVQ         R9, AX
	IMULQ        BX, AX
	SHLQ         $5, AX
	ADDQ         laneRows_all(R8), AX
	SHLQ         $5, BX
	MOVQ         R15, DX
	SUBQ         BX, DX
	VADDPD       -64(DX), Y5, Y4
	VMOVUPD      Y4, -64(DX) // what leaves the component

outside:
	VMULPD  (AX), Y5, Y4
	VADDPD  (DX), Y4, Y4
	VMOVUPD Y4, (DX)
	ADDQ    $32, AX
	ADDQ    $32, DX
	CMPQ    DX, R15
	JNE     outside
	JMP     successor

inside:
	MOVQ    laneRows_head(R8), DX
	MOVBLZX (DX)(AX*1), DX
	TESTL   DX, DX
	JEQ     before
	SHLQ    $5, DX
	VADDPD  -32(R12)(DX*1), Y5, Y5
	VMOVUPD Y5, -32(R12)(DX*1)
	JMP     successor

before: // as much of the columns of a state before
	MOVQ  f+8(FP), DX
	IMULQ laneFeedback_width(DX), BX
	SHLQ  $5, BX
	ADDQ  laneFeedback_columns(DX), BX
	MOVQ  R12, DX

column:
	VMULPD  (BX), Y5, Y4
	VADDPD  (DX), Y4, Y4
	VMOVUPD Y4, (DX)
	ADDQ    $32, BX
	ADDQ    $32, DX
	CMPQ    DX, R15
	JNE     column
	JMP     successor

charge: // sum − rounding·(size+out·|value|)
	MOVL        R10, AX
	ANDL        laneRows_mask(R8), AX
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
	MOVQ        laneRows_dim(R8), DX
	SHLQ        $5, DX
	NEGQ        DX
	VADDPD      -32(R15)(DX*1), Y0, Y0
	VMOVUPD     Y0, -32(R15)(DX*1)
	VANDPD      Y8, Y3, Y3
	VADDPD      Y3, Y9, Y9

next:
	INCQ      R13
	CMPQ      R13, R14
	JNE       choice
	VCMPPD    $1, Y9, Y12, Y4
	VMOVMSKPD Y4, AX
	CMPL      AX, $15
	JNE       stays
	VBROADCASTSD one<>(SB), Y4
	VCMPPD    $4, Y9, Y4, Y4
	VMOVMSKPD Y4, AX
	TESTL     AX, AX
	JEQ       surely                         // x/1 is x

divide:
	VMOVUPD (R12), Y4
	VDIVPD  Y9, Y4, Y4
	VMOVUPD Y4, (R12)
	ADDQ    $32, R12
	CMPQ    R12, R15
	JNE     divide

surely:
	MOVQ R15, R12
	INCQ R10
	CMPL R10, hi+20(FP)
	JNE  state
	MOVB $1, ok+24(FP)
	VZEROUPPER
	RET

stays:
	MOVB $0, ok+24(FP)
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
	MOVL    R10, AX
	ANDL    laneRows_mask(R8), AX
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
	SLOT(AX, BX)
	SHLQ         $5, BX
	VMOVUPD      (DX)(BX*1), Y4
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
