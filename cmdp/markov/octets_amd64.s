#include "go_asm.h"
#include "textflag.h"

DATA unbounded<>+0(SB)/8, $0x7ff0000000000000
GLOBL unbounded<>(SB), RODATA|NOPTR, $8

DATA unsigned<>+0(SB)/8, $0x7fffffffffffffff // all but the sign
GLOBL unsigned<>(SB), RODATA|NOPTR, $8

DATA ones<>+0(SB)/8, $0x0101010101010101
GLOBL ones<>(SB), RODATA|NOPTR, $8

// What the functions that sweep upwards have in registers: R8 the rows, R9 the values, R10 a state and R14 where they
// end, R13 a row and R15 the end of those of the state, DI and R12 its next entry and reward, SI the shares; Y0 and Y1
// a sum, Y10 and Y11 the least one.

// UPWARDS sets the registers of a function that sweeps upwards.
#define UPWARDS \
	MOVQ    z+0(FP), R8; \
	MOVLQSX lo+8(FP), R10; \
	MOVLQSX hi+12(FP), R14; \
	MOVQ    octetRows_shares(R8), SI; \
	MOVQ    octetRows_values(R8), R9; \
	FROM

// FROM sets the registers of rows to those of the state.
#define FROM \
	MOVQ    octetRows_first(R8), AX; \
	MOVLQSX (AX)(R10*4), R13; \
	MOVQ    octetRows_begin(R8), AX; \
	MOVLQSX (AX)(R13*4), CX; \
	MOVQ    octetRows_next(R8), DI; \
	LEAQ    (DI)(CX*4), DI; \
	MOVQ    R13, R12; \
	IMULQ   octetRows_dim(R8), R12; \
	SHLQ    $3, R12; \
	ADDQ    octetRows_own(R8), R12

// SUM sets Y0 and Y1 to what a row gives, and goes on to the next one.
#define SUM(reward, entry, summed) \
	MOVQ    octetRows_shareAt(R8), AX; \
	MOVLQSX (AX)(R13*4), DX; \
	LEAQ    (SI)(DX*8), DX; \
	MOVQ    octetRows_begin(R8), AX; \
	MOVLQSX 4(AX)(R13*4), R11; \
	MOVQ    octetRows_next(R8), AX; \
	LEAQ    (AX)(R11*4), R11; \
	MOVQ    octetRows_directions(R8), BX; \
	MOVQ    octetRows_dim(R8), CX; \
	VXORPD  Y0, Y0, Y0; \
	VXORPD  Y1, Y1, Y1; \
reward: \
	VBROADCASTSD (R12), Y4; \
	VMULPD       (BX), Y4, Y5; \
	VADDPD       Y5, Y0, Y0; \
	VMULPD       32(BX), Y4, Y5; \
	VADDPD       Y5, Y1, Y1; \
	ADDQ         $8, R12; \
	ADDQ         $64, BX; \
	DECQ         CX; \
	JNZ          reward; \
	CMPQ         DI, R11; \
	JEQ          summed; \
entry: \
	MOVL         (DI), AX; \
	VBROADCASTSD (DX), Y4; \
	VMULPD       (R9)(AX*1), Y4, Y5; \
	VMULPD       32(R9)(AX*1), Y4, Y6; \
	VADDPD       Y5, Y0, Y0; \
	VADDPD       Y6, Y1, Y1; \
	ADDQ         $4, DI; \
	ADDQ         $8, DX; \
	CMPQ         DI, R11; \
	JNE          entry; \
summed: \
	INCQ R13

// func sweepOctets(z *octetRows, lo, hi int32)
//
// Y8 and Y9 have the largest changes, Y13 all bits if values never fall, Y14 what is kept of a sum.
TEXT ·sweepOctets(SB), NOSPLIT, $0-16
	UPWARDS
	VBROADCASTSD unsigned<>(SB), Y7
	VMOVUPD      octetRows_worst(R8), Y8
	VMOVUPD      (octetRows_worst+32)(R8), Y9
	VBROADCASTSD octetRows_rising(R8), Y13
	VBROADCASTSD octetRows_keep(R8), Y14

state:
	CMPQ         R10, R14
	JGE          end
	MOVQ         octetRows_active(R8), AX
	TESTQ        AX, AX
	JEQ          all
	CMPB         (AX)(R10*1), $0
	JNE          all

skip:
	INCQ         R10
	CMPQ         R10, R14
	JGE          end
	CMPB         (AX)(R10*1), $0
	JEQ          skip
	FROM

all:
	VBROADCASTSD unbounded<>(SB), Y10
	VMOVAPD      Y10, Y11
	MOVQ         octetRows_first(R8), AX
	MOVLQSX      4(AX)(R10*4), R15

choice:
	SUM(reward, entry, summed)
	VMINPD       Y10, Y0, Y10
	VMINPD       Y11, Y1, Y11
	CMPQ         R13, R15
	JNE          choice
	MOVQ         R10, AX
	SHLQ         $6, AX
	ADDQ         R9, AX
	VMOVUPD      (AX), Y2
	VMOVUPD      32(AX), Y3
	VMULPD       Y14, Y10, Y10
	VMULPD       Y14, Y11, Y11
	VSUBPD       octetRows_slack(R8), Y10, Y10
	VSUBPD       (octetRows_slack+32)(R8), Y11, Y11
	VANDPD       Y13, Y2, Y4
	VANDPD       Y13, Y3, Y5
	VMAXPD       Y4, Y10, Y10
	VMAXPD       Y5, Y11, Y11
	VMOVUPD      Y10, (AX)
	VMOVUPD      Y11, 32(AX)
	VSUBPD       Y2, Y10, Y4
	VSUBPD       Y3, Y11, Y5
	VANDPD       Y7, Y4, Y4
	VANDPD       Y7, Y5, Y5
	VMAXPD       Y4, Y8, Y8
	VMAXPD       Y5, Y9, Y9
	INCQ         R10
	JMP          state

end:
	VMOVUPD Y8, octetRows_worst(R8)
	VMOVUPD Y9, (octetRows_worst+32)(R8)
	VZEROUPPER
	RET

// func lookOctets(z *octetRows, lo, hi int32)
//
// Y2 and Y3 have the best rows, from 0, Y8 and Y9 by how much values are above backups at most.
TEXT ·lookOctets(SB), NOSPLIT, $0-16
	UPWARDS
	VMOVUPD      octetRows_over(R8), Y8
	VMOVUPD      (octetRows_over+32)(R8), Y9
	VBROADCASTSD octetRows_keep(R8), Y14

state:
	CMPQ         R10, R14
	JGE          end
	VBROADCASTSD unbounded<>(SB), Y10
	VMOVAPD      Y10, Y11
	VXORPD       Y2, Y2, Y2
	VXORPD       Y3, Y3, Y3
	MOVQ         octetRows_first(R8), AX
	MOVLQSX      4(AX)(R10*4), R15

choice:
	MOVQ         octetRows_first(R8), AX
	MOVLQSX      (AX)(R10*4), BX
	MOVQ         R13, AX
	SUBQ         BX, AX
	VMOVQ        AX, X7
	VMOVDDUP     X7, X7
	VINSERTF128  $1, X7, Y7, Y7
	SUM(reward, entry, summed)
	VCMPPD       $1, Y10, Y0, Y4
	VBLENDVPD    Y4, Y0, Y10, Y10
	VBLENDVPD    Y4, Y7, Y2, Y2
	VCMPPD       $1, Y11, Y1, Y5
	VBLENDVPD    Y5, Y1, Y11, Y11
	VBLENDVPD    Y5, Y7, Y3, Y3
	CMPQ         R13, R15
	JNE          choice
	MOVQ         R10, AX
	SHLQ         $6, AX
	ADDQ         R9, AX
	VMULPD       Y14, Y10, Y10
	VMULPD       Y14, Y11, Y11
	VMOVUPD      (AX), Y4
	VMOVUPD      32(AX), Y5
	VSUBPD       Y10, Y4, Y4
	VSUBPD       Y11, Y5, Y5
	VMAXPD       Y4, Y8, Y8
	VMAXPD       Y5, Y9, Y9
	VEXTRACTF128 $1, Y2, X4
	VSHUFPS      $0x88, X4, X2, X2
	VEXTRACTF128 $1, Y3, X5
	VSHUFPS      $0x88, X5, X3, X3
	VPACKUSDW    X3, X2, X2
	VPACKUSWB    X2, X2, X2
	MOVQ         octetRows_policy(R8), AX
	VMOVQ        X2, (AX)(R10*8)
	INCQ         R10
	JMP          state

end:
	VMOVUPD Y8, octetRows_over(R8)
	VMOVUPD Y9, (octetRows_over+32)(R8)
	VZEROUPPER
	RET

// func pushOctets(z *octetRows, lo, hi int32)
//
// R9 is what is missing; Y10 and Y11 what a state sends on, X13 its rows, from 0, and X14 the present one, as bytes.
TEXT ·pushOctets(SB), NOSPLIT, $0-16
	MOVQ    z+0(FP), R8
	MOVLQSX hi+12(FP), R10
	MOVLQSX lo+8(FP), R14
	MOVQ    octetRows_missing(R8), R9
	MOVQ    octetRows_shares(R8), SI
	VMOVQ   ones<>(SB), X12
	VMOVUPD octetRows_least(R8), Y8
	VMOVUPD (octetRows_least+32)(R8), Y9

state:
	DECQ      R10
	CMPQ      R10, R14
	JLT       end
	MOVQ      R10, AX
	SHLQ      $6, AX
	LEAQ      (R9)(AX*1), BX
	VMOVUPD   (BX), Y10
	VMOVUPD   32(BX), Y11
	VCMPPD    $14, Y8, Y10, Y2 // greater
	VCMPPD    $14, Y9, Y11, Y3
	VORPD     Y2, Y3, Y4
	VMOVMSKPD Y4, CX
	TESTL     CX, CX
	JEQ       state
	VANDNPD   Y10, Y2, Y4
	VANDNPD   Y11, Y3, Y5
	VMOVUPD   Y4, (BX)
	VMOVUPD   Y5, 32(BX)
	VANDPD    Y2, Y10, Y10
	VANDPD    Y3, Y11, Y11
	ADDQ      octetRows_visited(R8), AX
	VADDPD    (AX), Y10, Y4
	VADDPD    32(AX), Y11, Y5
	VMOVUPD   Y4, (AX)
	VMOVUPD   Y5, 32(AX)
	MOVQ      octetRows_policy(R8), AX
	VMOVQ     (AX)(R10*8), X13
	VPXOR     X14, X14, X14
	MOVQ      octetRows_first(R8), AX
	MOVLQSX   (AX)(R10*4), R13
	MOVLQSX   4(AX)(R10*4), R15

choice:
	VPCMPEQB  X13, X14, X4
	VPADDB    X12, X14, X14
	VMOVQ     X4, AX
	TESTQ     AX, AX
	JEQ       next
	VPMOVSXBQ X4, Y2
	VPSRLDQ   $4, X4, X4
	VPMOVSXBQ X4, Y3
	VANDPD    Y10, Y2, Y2
	VANDPD    Y11, Y3, Y3
	MOVQ      octetRows_shareAt(R8), AX
	MOVLQSX   (AX)(R13*4), DX
	LEAQ      (SI)(DX*8), DX
	MOVQ      octetRows_begin(R8), AX
	MOVLQSX   (AX)(R13*4), DI
	MOVLQSX   4(AX)(R13*4), R11
	MOVQ      octetRows_next(R8), AX
	LEAQ      (AX)(DI*4), DI
	LEAQ      (AX)(R11*4), R11
	CMPQ      DI, R11
	JEQ       next

entry:
	MOVL         (DI), AX
	VBROADCASTSD (DX), Y4
	VMULPD       Y2, Y4, Y5
	VMULPD       Y3, Y4, Y6
	VADDPD       (R9)(AX*1), Y5, Y5
	VADDPD       32(R9)(AX*1), Y6, Y6
	VMOVUPD      Y5, (R9)(AX*1)
	VMOVUPD      Y6, 32(R9)(AX*1)
	ADDQ         $4, DI
	ADDQ         $8, DX
	CMPQ         DI, R11
	JNE          entry

next:
	INCQ R13
	CMPQ R13, R15
	JNE  choice
	JMP  state

end:
	VZEROUPPER
	RET
