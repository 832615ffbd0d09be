//go:build cgo && glpk

package lp

import "C"

import "unsafe"

// glpkAbort is the value of the panic that takes the place of an abort of the process.
type glpkAbort struct{}

// lpGLPKAbort is GLPK's error hook. If it returned, GLPK would call abort(). It panics
// instead, which unwinds the C frames up to the recover of the calling goroutine.
//
//export lpGLPKAbort
func lpGLPKAbort(unsafe.Pointer) { panic(glpkAbort{}) }
