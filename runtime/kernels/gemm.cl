// C[b] = alpha * A[b] B[b] + beta * D[b] for the matrices of a batch, B packed by pack_gemm.
//
// One work-item computes tiles of TM rows by NB vectors of VW columns, kept in registers while it
// walks K.  Work-items are (panel of columns, chunk of tiles, batch).  The last tile of rows overlaps
// the one before it, so that there is no remainder; columns past N are zeros in the packed B and are
// not stored.  `offsets` holds for each matrix of the batch where A begins, which matrix of B it
// meets, and where D begins.
//
// Types: A, D, C storage of the operands, R what is computed in.  Defines: TM, NB, VW; A_COLUMN where
// A is stored transposed; BIAS 0 none, 1 rows of N columns, 2 one number a row (d_row 0 broadcasts
// either); DIRECT where C and D are stored as R.
#include "vector.cl"

#ifdef A_COLUMN
#define A_AT(p, k) A_LOAD(a, (k) * lda + (p))
#else
#define A_AT(p, k) A_LOAD(a, (p) * lda + (k))
#endif

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void gemm(
    __global const A_T *restrict A, __global const R_T *restrict B, __global const D_T *restrict D,
    __global C_T *restrict C, __global const int *restrict offsets, const int M, const int N, const int K,
    const int lda, const int tiles, const int chunk, const R_C alpha, const R_C beta, const int d_row) {
  const int column = get_global_id(0) * NB * VW;
  const int batch = get_global_id(2);
  __global const A_T *a0 = A + offsets[3 * batch];
  __global const D_T *d0 = D + offsets[3 * batch + 2];
  __global const R_T *b0 =
      B + ((size_t)offsets[3 * batch + 1] * get_global_size(0) + get_global_id(0)) * K * (NB * VW);
  __global C_T *c0 = C + (size_t)batch * M * N;
  const int end = min((int)(get_global_id(1) + 1) * chunk, tiles);
  for (int tile = get_global_id(1) * chunk; tile < end; tile++) {
    const int row = min(tile * TM, M - TM);
#ifdef A_COLUMN
    __global const A_T *a = a0 + row;
#else
    __global const A_T *a = a0 + row * lda;
#endif
    __global const R_T *b = b0;
    VEC sum[TM][NB];
#pragma unroll
    for (int p = 0; p < TM; p++)
#pragma unroll
      for (int n = 0; n < NB; n++) sum[p][n] = (VEC)(0);
#pragma unroll 4
    for (int k = 0; k < K; k++) {
      VEC v[NB];
#pragma unroll
      for (int n = 0; n < NB; n++) v[n] = VLOAD(n, b);
      b += NB * VW;
#pragma unroll
      for (int p = 0; p < TM; p++) {
        const VEC x = (VEC)((R_C)A_AT(p, k));
#pragma unroll
        for (int n = 0; n < NB; n++) sum[p][n] = MAD(x, v[n], sum[p][n]);
      }
    }
#pragma unroll
    for (int p = 0; p < TM; p++)
#pragma unroll
      for (int n = 0; n < NB; n++) {
        const int j = column + n * VW;
        VEC r = alpha * sum[p][n];
#if BIAS == 1
        r = MAD((VEC)(beta), load_some(d0 + (row + p) * d_row + j, N - j), r);
#elif BIAS == 2
        r += (VEC)(beta * (R_C)D_LOAD(d0, (row + p) * d_row));
#endif
        store_some(c0 + (size_t)(row + p) * N + j, r, N - j);
      }
  }
}
