#include "textflag.h"

DATA least<>+0(SB)/8, $0xfff0000000000000 // -∞
GLOBL least<>(SB), RODATA|NOPTR, $8

// func compareAVX(values, lower, rooms *float64, n int, free float64) float64
//
// The best t is the greatest value with at least as much room, at and above it, as is free. The least value has, since
// rooms are added in the order in which the caller added them, and free is at most that sum.
TEXT ·compareAVX(SB), NOSPLIT, $0-48
	MOVQ         values+0(FP), SI
	MOVQ         lower+8(FP), DX
	MOVQ         rooms+16(FP), DI
	MOVQ         n+24(FP), CX
	VBROADCASTSD free+32(FP), Y0
	VBROADCASTSD least<>(SB), Y10
	VMOVAPD      Y10, Y1              // t
	XORQ         BX, BX

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
	VMULSD       X1, X0, X10    // free·t
	VMOVDDUP     X1, X1
	VINSERTF128  $1, X1, Y1, Y1
	VXORPD       Y2, Y2, Y2
	VXORPD       Y5, Y5, Y5
	XORQ         AX, AX

sum: // Y2 += lower·value + rooms·max(value-t, 0)
	VMOVUPD (SI)(AX*8), Y3
	VMULPD  (DX)(AX*8), Y3, Y4
	VADDPD  Y4, Y2, Y2
	VSUBPD  Y1, Y3, Y3
	VCMPPD  $0x1d, Y5, Y3, Y4
	VANDPD  (DI)(AX*8), Y4, Y4
	VMULPD  Y4, Y3, Y3
	VADDPD  Y3, Y2, Y2
	ADDQ    $4, AX
	CMPQ    AX, CX
	JLT     sum

	VEXTRACTF128 $1, Y2, X3
	VADDPD       X3, X2, X2
	VHADDPD      X2, X2, X2
	VADDSD       X10, X2, X2
	VMOVSD       X2, ret+40(FP)
	VZEROUPPER
	RET
