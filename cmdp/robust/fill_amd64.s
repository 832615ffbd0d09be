#include "textflag.h"

DATA least<>+0(SB)/8, $0xfff0000000000000 // -∞
GLOBL least<>(SB), RODATA|NOPTR, $8

DATA one<>+0(SB)/8, $1.0
GLOBL one<>(SB), RODATA|NOPTR, $8

// func pivotsAVX(t, values *float64, stride, dirs int, rooms *float64, n int, free float64)
//
// The best t is the greatest value with at least as much room, at and above it, as is free. The least value has, since
// rooms are added in the order in which the caller added them, and free is at most that sum.
TEXT ·pivotsAVX(SB), NOSPLIT, $0-56
	MOVQ         t+0(FP), R8
	MOVQ         values+8(FP), SI
	MOVQ         stride+16(FP), R9
	MOVQ         dirs+24(FP), R10
	MOVQ         rooms+32(FP), DI
	MOVQ         n+40(FP), CX
	VBROADCASTSD free+48(FP), Y0
	VBROADCASTSD least<>(SB), Y10

directions:
	VMOVAPD Y10, Y1 // t
	XORQ    BX, BX

candidates: // eight successors, Y2 and Y3, and the room at and above each, Y4 and Y5
	VMOVUPD (SI)(BX*8), Y2
	VMOVUPD 32(SI)(BX*8), Y3
	VXORPD  Y4, Y4, Y4
	VXORPD  Y5, Y5, Y5
	XORQ    AX, AX

successors: // each adds its room to those that it is not below
	VBROADCASTSD (SI)(AX*8), Y6
	VBROADCASTSD (DI)(AX*8), Y7
	VCMPPD       $0x1d, Y2, Y6, Y8 // Y6 ≥ Y2
	VCMPPD       $0x1d, Y3, Y6, Y9
	VANDPD       Y7, Y8, Y8
	VANDPD       Y7, Y9, Y9
	VADDPD       Y8, Y4, Y4
	VADDPD       Y9, Y5, Y5
	INCQ         AX
	CMPQ         AX, CX
	JLT          successors

	VCMPPD    $0x1d, Y0, Y4, Y4 // enough room
	VCMPPD    $0x1d, Y0, Y5, Y5
	VBLENDVPD Y4, Y2, Y10, Y2
	VBLENDVPD Y5, Y3, Y10, Y3
	VMAXPD    Y2, Y1, Y1
	VMAXPD    Y3, Y1, Y1
	ADDQ      $8, BX
	CMPQ      BX, CX
	JLT       candidates

	VEXTRACTF128 $1, Y1, X2
	VMAXPD       X2, X1, X1
	VUNPCKHPD    X1, X1, X2
	VMAXSD       X2, X1, X1
	VMOVSD       X1, (R8)
	ADDQ         $8, R8
	LEAQ         (SI)(R9*8), SI
	DECQ         R10
	JNZ          directions
	VZEROUPPER
	RET

// func pivotsAVX512(t, values *float64, stride, dirs int, rooms *float64, n int, free float64)
//
// It does what pivotsAVX does, for 24 candidates at a time. The units that multiply add, as the others compare.
TEXT ·pivotsAVX512(SB), NOSPLIT, $0-56
	MOVQ         t+0(FP), R8
	MOVQ         values+8(FP), SI
	MOVQ         stride+16(FP), R9
	MOVQ         dirs+24(FP), R10
	MOVQ         rooms+32(FP), DI
	MOVQ         n+40(FP), CX
	VBROADCASTSD free+48(FP), Z0
	VBROADCASTSD least<>(SB), Z10
	VBROADCASTSD one<>(SB), Z11

directions:
	VMOVAPD Z10, Z1 // t
	XORQ    BX, BX

candidates: // successors, Z2 to Z4, and the room at and above each, Z5 to Z7
	VMOVUPD (SI)(BX*8), Z2
	VMOVUPD 64(SI)(BX*8), Z3
	VMOVUPD 128(SI)(BX*8), Z4
	VPXORQ  Z5, Z5, Z5
	VPXORQ  Z6, Z6, Z6
	VPXORQ  Z7, Z7, Z7
	XORQ    AX, AX

successors: // each adds its room to those that it is not below
	VBROADCASTSD (SI)(AX*8), Z8
	VBROADCASTSD (DI)(AX*8), Z9
	VCMPPD       $0x1d, Z2, Z8, K1 // Z8 ≥ Z2
	VCMPPD       $0x1d, Z3, Z8, K2
	VCMPPD       $0x1d, Z4, Z8, K3
	VFMADD231PD  Z9, Z11, K1, Z5
	VFMADD231PD  Z9, Z11, K2, Z6
	VFMADD231PD  Z9, Z11, K3, Z7
	INCQ         AX
	CMPQ         AX, CX
	JLT          successors

	VCMPPD $0x1d, Z0, Z5, K1 // enough room
	VCMPPD $0x1d, Z0, Z6, K2
	VCMPPD $0x1d, Z0, Z7, K3
	VMAXPD Z2, Z1, K1, Z1
	VMAXPD Z3, Z1, K2, Z1
	VMAXPD Z4, Z1, K3, Z1
	ADDQ   $24, BX
	CMPQ   BX, CX
	JLT    candidates

	VEXTRACTF64X4 $1, Z1, Y2
	VMAXPD        Y2, Y1, Y1
	VEXTRACTF128  $1, Y1, X2
	VMAXPD        X2, X1, X1
	VUNPCKHPD     X1, X1, X2
	VMAXSD        X2, X1, X1
	VMOVSD        X1, (R8)
	ADDQ          $8, R8
	LEAQ          (SI)(R9*8), SI
	DECQ          R10
	JNZ           directions
	VZEROUPPER
	RET

// func sumsAVX(t, values *float64, stride, dirs int, lower, rooms *float64, n int, free float64)
//
// Each t is replaced by its sum.
TEXT ·sumsAVX(SB), NOSPLIT, $0-64
	MOVQ   t+0(FP), R8
	MOVQ   values+8(FP), SI
	MOVQ   stride+16(FP), R9
	MOVQ   dirs+24(FP), R10
	MOVQ   lower+32(FP), DX
	MOVQ   rooms+40(FP), DI
	MOVQ   n+48(FP), CX
	VMOVSD free+56(FP), X0
	VXORPD Y5, Y5, Y5

directions:
	VBROADCASTSD (R8), Y1
	VMULSD       X1, X0, X2 // free·t, and zeros
	VXORPD       Y6, Y6, Y6
	XORQ         AX, AX

successors: // lower·value and rooms·max(value-t, 0)
	VMOVUPD (SI)(AX*8), Y3
	VMULPD  (DX)(AX*8), Y3, Y4
	VADDPD  Y4, Y2, Y2
	VSUBPD  Y1, Y3, Y3
	VMAXPD  Y5, Y3, Y3
	VMULPD  (DI)(AX*8), Y3, Y3
	VADDPD  Y3, Y6, Y6
	ADDQ    $4, AX
	CMPQ    AX, CX
	JLT     successors

	VADDPD       Y6, Y2, Y2
	VEXTRACTF128 $1, Y2, X3
	VADDPD       X3, X2, X2
	VHADDPD      X2, X2, X2
	VMOVSD       X2, (R8)
	ADDQ         $8, R8
	LEAQ         (SI)(R9*8), SI
	DECQ         R10
	JNZ          directions
	VZEROUPPER
	RET

// func prefetchValues(v *float64, n int, next *int32, successors int)
TEXT ·prefetchValues(SB), NOSPLIT, $0-32
	MOVQ v+0(FP), SI
	MOVQ n+8(FP), DX
	MOVQ next+16(FP), DI
	MOVQ successors+24(FP), CX
	SHLQ $3, DX
	LEAQ -8(SI)(DX*1), R8

successors: // the first and the last value of each, and the rows that follow
	MOVLQSX    (DI), AX
	IMULQ      DX, AX
	PREFETCHT0 (SI)(AX*1)
	PREFETCHT0 (R8)(AX*1)
	PREFETCHT0 1536(DI)
	ADDQ       $4, DI
	DECQ       CX
	JNZ        successors
	RET
