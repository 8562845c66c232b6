// Matrix products one element a work-item, any strides and types, and the packing that gemm.cl reads.
// Types: A, B, D, C storage of the operands, R what is computed in.

// C[b][i][j] = alpha * sum_k A B + beta * D.  `offsets` holds where A, B and D begin for each batch.
__kernel void matmul(const int n, __global const A_T *restrict A, __global const B_T *restrict B,
                     __global const D_T *restrict D, __global C_T *restrict C,
                     __global const int *restrict offsets, const int M, const int N, const int K,
                     const int a_row, const int a_column, const int b_row, const int b_column,
                     const R_C alpha, const R_C beta, const int d_row, const int d_column) {
  const int at = get_global_id(0);
  if (at >= n) return;
  const int j = at % N, i = at / N % M, batch = at / N / M;
  __global const A_T *a = A + offsets[3 * batch] + i * a_row;
  __global const B_T *b = B + offsets[3 * batch + 1] + j * b_column;
  R_C sum = 0;
  for (int k = 0; k < K; k++) sum += (R_C)A_LOAD(a, k * a_column) * (R_C)B_LOAD(b, k * b_row);
#ifdef BIAS
  sum = alpha * sum + beta * (R_C)D_LOAD(D, offsets[3 * batch + 2] + i * d_row + j * d_column);
#else
  sum = alpha * sum;
#endif
  C_STORE(C, at, sum);
}

// P[matrix][panel][K][W] = B, zero past column N.  A work-item packs a span of rows of one panel.
__kernel void pack_gemm(__global const B_T *restrict B, __global R_T *restrict P, const int N, const int K,
                        const int matrix, const int b_row, const int b_column, const int span) {
  const int column = get_global_id(0) * W, first = get_global_id(1) * span, last = min(first + span, K);
  __global const B_T *b = B + (size_t)get_global_id(2) * matrix + column * b_column;
  __global R_T *p = P + ((size_t)get_global_id(2) * get_global_size(0) + get_global_id(0)) * K * W;
  if (b_column == 1 && column + W <= N) {
    for (int k = first; k < last; k++)
#pragma unroll
      for (int j = 0; j < W; j++) p[k * W + j] = (R_T)B_LOAD(b, k * b_row + j);
    return;
  }
  for (int j = 0; j < W; j++)
    for (int k = first; k < last; k++)
      p[k * W + j] = column + j < N ? (R_T)B_LOAD(b, k * b_row + j * b_column) : (R_T)0;
}
