// Sliding windows over one, two or three dimensions (axes of size 1 in front fill up).
// Types: X input, Y output, R what is computed in.

// Rows of outputs, SPAN a work-item, each in pieces of PIECE: every tap of the window is one pass over
// the piece, inside of the input only.  MODE 0 maximum, 1 average, 2 Lp norm.  COUNT_PAD counts the
// padding, but nothing beyond it.
#define PIECE 64
#if MODE == 2
#define TERM(v) pow(fabs((R_C)(v)), power)
#else
#define TERM(v) (R_C)(v)
#endif

inline int places(int from, int kernel_size, int dilation, int low, int high) {
  int count = 0;
  for (int k = 0; k < kernel_size; k++) count += from + k * dilation >= low && from + k * dilation < high;
  return count;
}

__kernel void pool(__global const X_T *restrict X, __global Y_T *restrict Y, const int rows,
                   const int x_depth, const int x_rows, const int x_row, const int y_depth, const int y_rows,
                   const int y_row, const int kernel_z, const int kernel_y, const int kernel_x,
                   const int stride_z, const int stride_y, const int stride_x, const int dilation_z,
                   const int dilation_y, const int dilation_x, const int begin_z, const int begin_y,
                   const int begin_x, const int end_z, const int end_y, const int end_x, const int span,
                   const R_C power, const R_C lowest) {
  for (int r = get_global_id(0) * span; r < min((int)(get_global_id(0) + 1) * span, rows); r++) {
    const int oy = r % y_rows, oz = r / y_rows % y_depth;
    const int z0 = oz * stride_z - begin_z, y0 = oy * stride_y - begin_y;
    __global const X_T *plane = X + (size_t)(r / y_rows / y_depth) * x_depth * x_rows * x_row;
    for (int first = 0; first < y_row; first += PIECE) {
      const int count = min(PIECE, y_row - first), x0 = first * stride_x - begin_x;
      R_C sum[PIECE];
      for (int i = 0; i < count; i++) sum[i] = MODE == 0 ? lowest : (R_C)0;
      for (int kz = 0; kz < kernel_z; kz++)
        for (int ky = 0; ky < kernel_y; ky++) {
          const int z = z0 + kz * dilation_z, y = y0 + ky * dilation_y;
          if (z < 0 || z >= x_depth || y < 0 || y >= x_rows) continue;
          for (int kx = 0; kx < kernel_x; kx++) {
            const int from = x0 + kx * dilation_x;
            __global const X_T *x = plane + (z * x_rows + y) * x_row + from;
            const int low = from < 0 ? (stride_x - 1 - from) / stride_x : 0;
            const int high = from >= x_row ? 0 : min(count, (x_row - from + stride_x - 1) / stride_x);
            for (int i = low; i < high; i++) {
              const R_C v = TERM(X_LOAD(x, i * stride_x));
#if MODE == 0
#ifdef R_IS_FLOAT
              sum[i] = v > sum[i] || v != v ? v : sum[i];
#else
              sum[i] = max(sum[i], v);
#endif
#else
              sum[i] += v;
#endif
            }
          }
        }
      __global Y_T *out = Y + (size_t)r * y_row + first;
#if MODE == 1
#ifdef COUNT_PAD
      const int area = places(z0, kernel_z, dilation_z, -begin_z, x_depth + end_z) *
                       places(y0, kernel_y, dilation_y, -begin_y, x_rows + end_y);
      const int low = -begin_x, high = x_row + end_x;
#else
      const int area = places(z0, kernel_z, dilation_z, 0, x_depth) * places(y0, kernel_y, dilation_y, 0, x_rows);
      const int low = 0, high = x_row;
#endif
      for (int i = 0; i < count; i++)
        sum[i] /= (R_C)(area * places(x0 + i * stride_x, kernel_x, dilation_x, low, high));
#elif MODE == 2
      for (int i = 0; i < count; i++) sum[i] = pow(sum[i], 1 / power);
#endif
      for (int i = 0; i < count; i++) Y_STORE(out, i, sum[i]);
    }
  }
}
