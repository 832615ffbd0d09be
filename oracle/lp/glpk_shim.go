//go:build cgo && glpk

package lp

/*
#cgo LDFLAGS: -lglpk
#include <float.h>
#include <math.h>
#include <string.h>
#include <glpk.h>

// This file reaches what go-glpk does not wrap. All functions work on the
// glp_prob of a go-glpk Prob and must run on the thread that created it.

extern void lpGLPKAbort(void *);

static __thread char lp_message[240];

// GLPK prints only before it aborts once term_out is off; the first line says why.
static int lp_keep(void *info, const char *text)
{	if (lp_message[0] == 0)
		strncpy(lp_message, text, sizeof lp_message - 1);
	return 1;
}

// Silences GLPK on this thread and turns its aborts into panics.
static void lp_prepare(void)
{	lp_message[0] = 0;
	glp_term_out(GLP_OFF);
	glp_term_hook(lp_keep, NULL);
	glp_error_hook(lpGLPKAbort, NULL);
}

static const char *lp_last_message(void) { return lp_message; }

static int lp_type(double lower, double upper)
{	if (lower == upper)
		return GLP_FX;
	if (isinf(lower))
		return isinf(upper) ? GLP_FR : GLP_UP;
	return isinf(upper) ? GLP_LO : GLP_DB;
}

static void lp_set_row_bounds(glp_prob *P, int m, const double *lower, const double *upper, double factor)
{	int i;
	for (i = 0; i < m; i++)
		glp_set_row_bnds(P, i+1, lp_type(lower[i], upper[i]), lower[i]*factor, upper[i]*factor);
}

static void lp_set_col_bounds(glp_prob *P, int n, const double *lower, const double *upper, double factor)
{	int j;
	for (j = 0; j < n; j++)
		glp_set_col_bnds(P, j+1, lp_type(lower[j], upper[j]), lower[j]*factor, upper[j]*factor);
}

static void lp_set_costs(glp_prob *P, int n, const double *cost, double factor)
{	int j;
	for (j = 0; j < n; j++)
		glp_set_obj_coef(P, j+1, cost[j]*factor);
}

// Row duals and column primals, the only numbers of an optimum that are needed.
static void lp_read(glp_prob *P, double *dual, double *x)
{	int i, m = glp_get_num_rows(P), n = glp_get_num_cols(P);
	for (i = 0; i < m; i++)
		dual[i] = glp_get_row_dual(P, i+1);
	for (i = 0; i < n; i++)
		x[i] = glp_get_col_prim(P, i+1);
}

// Multipliers of the sum of infeasibilities at the last basis of phase one, by
// B'y = slopes. GLPK's basis is made of the columns of (I | -A), hence the sign.
static int lp_farkas(glp_prob *P, double *y, double tol)
{	int i, k, m = glp_get_num_rows(P);
	if (!glp_bf_exists(P) && glp_factorize(P) != 0)
		return 0;
	for (i = 1; i <= m; i++)
	{	double x, lower, upper;
		k = glp_get_bhead(P, i);
		if (k <= m)
			x = glp_get_row_prim(P, k), lower = glp_get_row_lb(P, k), upper = glp_get_row_ub(P, k);
		else
			x = glp_get_col_prim(P, k-m), lower = glp_get_col_lb(P, k-m), upper = glp_get_col_ub(P, k-m);
		y[i] = 0;
		if (lower != -DBL_MAX && x < lower - tol * (1 + fabs(lower)))
			y[i] = -1;
		if (upper != DBL_MAX && x > upper + tol * (1 + fabs(upper)))
			y[i] = 1;
	}
	glp_btran(P, y);
	for (i = 1; i <= m; i++)
		y[i] = -y[i];
	return 1;
}

// The direction in which the nonbasic variable of GLPK's ray takes the columns.
static int lp_recession(glp_prob *P, double *ray, int *ind, double *val)
{	int k, t, len, m = glp_get_num_rows(P);
	double d;
	k = glp_get_unbnd_ray(P);
	if (k == 0 || !glp_bf_exists(P) && glp_factorize(P) != 0)
		return 0;
	if ((k <= m ? glp_get_row_stat(P, k) : glp_get_col_stat(P, k-m)) == GLP_BS)
		return 0;
	d = k <= m ? glp_get_row_dual(P, k) : glp_get_col_dual(P, k-m);
	d = d < 0 ? 1 : -1;
	if (k > m)
		ray[k-m-1] = d;
	len = glp_eval_tab_col(P, k, ind, val);
	for (t = 1; t <= len; t++)
		if (ind[t] > m)
			ray[ind[t]-m-1] = d * val[t];
	return 1;
}
*/
import "C"

import (
	"unsafe"

	"github.com/lukpank/go-glpk/glpk"
)

// glpkTolerance replaces GLPK's primal and dual tolerances of 1e-7. Costs are
// passed with largest entry 1, so it is relative to the largest cost.
const glpkTolerance = 1e-9

// raw returns the glp_prob inside a go-glpk Prob, which is a pointer to a struct
// that holds nothing but a pointer to a struct that begins with it.
func raw(p *glpk.Prob) *C.glp_prob {
	return *(**C.glp_prob)(*(*unsafe.Pointer)(unsafe.Pointer(p)))
}

// parameters returns simplex parameters that are silent and tight and give up
// after limit iterations. A go-glpk Smcp is nothing but a glp_smcp.
func parameters(limit int) *glpk.Smcp {
	p := glpk.NewSmcp()
	p.SetMsgLev(glpk.MSG_OFF)
	smcp := (*C.glp_smcp)(unsafe.Pointer(p))
	smcp.tol_bnd, smcp.tol_dj = glpkTolerance, glpkTolerance
	smcp.it_lim = C.int(limit)
	return p
}

// prepareThread silences GLPK on this thread and installs the error hook.
func prepareThread() { C.lp_prepare() }

// freeThread drops all memory that GLPK holds for this thread, problems included.
func freeThread() { C.glp_free_env() }

// lastMessage returns why GLPK aborted on this thread.
func lastMessage() string { return C.GoString(C.lp_last_message()) }

// iterations returns the number of simplex iterations that p has had since it was created.
func iterations(p *glpk.Prob) int { return int(C.glp_get_it_cnt(raw(p))) }

func doubles(x []float64) *C.double { return (*C.double)(unsafe.SliceData(x)) }

func setRowBounds(p *glpk.Prob, lower, upper []float64, factor float64) {
	C.lp_set_row_bounds(raw(p), C.int(len(lower)), doubles(lower), doubles(upper), C.double(factor))
}

func setColBounds(p *glpk.Prob, lower, upper []float64, factor float64) {
	C.lp_set_col_bounds(raw(p), C.int(len(lower)), doubles(lower), doubles(upper), C.double(factor))
}

func setCosts(p *glpk.Prob, cost []float64, factor float64) {
	C.lp_set_costs(raw(p), C.int(len(cost)), doubles(cost), C.double(factor))
}

// readOptimum copies the row duals and the column primals.
func readOptimum(p *glpk.Prob, dual, x []float64) {
	C.lp_read(raw(p), doubles(dual), doubles(x))
}

// readFarkas sets y, which has a leading place that GLPK needs, to phase-one
// multipliers from index 1 on, and says whether it could.
func readFarkas(p *glpk.Prob, y []float64) bool {
	return C.lp_farkas(raw(p), doubles(y), glpkTolerance) != 0
}

// readRecession adds GLPK's direction of recession to the zero vector ray, and says whether it could.
func readRecession(p *glpk.Prob, ray []float64) bool {
	ind, val := make([]C.int, p.NumRows()+1), make([]float64, p.NumRows()+1)
	return C.lp_recession(raw(p), doubles(ray), unsafe.SliceData(ind), doubles(val)) != 0
}
