// The maximum of each window and where it is, one output a work-item; the window is as in pooling.cl.
// Types: X input and output.  `COLUMN_MAJOR` counts the spatial axes of a plane from the first.

__kernel void pool_indices(const int n, __global const X_T *restrict X, __global X_T *restrict Y,
                           __global long *restrict indices, const int x_depth, const int x_rows,
                           const int x_row, const int y_depth, const int y_rows, const int y_row,
                           const int kernel_z, const int kernel_y, const int kernel_x, const int stride_z,
                           const int stride_y, const int stride_x, const int dilation_z,
                           const int dilation_y, const int dilation_x, const int begin_z,
                           const int begin_y, const int begin_x) {
  const int at = get_global_id(0);
  if (at >= n) return;
  const int ox = at % y_row, oy = at / y_row % y_rows, oz = at / (y_row * y_rows) % y_depth;
  const int plane = at / (y_row * y_rows * y_depth), size = x_depth * x_rows * x_row;
  __global const X_T *x = X + (size_t)plane * size;
  X_C best = 0;
  int bz = -1, by = 0, bx = 0;
  for (int kz = 0; kz < kernel_z; kz++)
    for (int ky = 0; ky < kernel_y; ky++)
      for (int kx = 0; kx < kernel_x; kx++) {
        const int iz = oz * stride_z - begin_z + kz * dilation_z;
        const int iy = oy * stride_y - begin_y + ky * dilation_y;
        const int ix = ox * stride_x - begin_x + kx * dilation_x;
        if (iz < 0 || iz >= x_depth || iy < 0 || iy >= x_rows || ix < 0 || ix >= x_row) continue;
        const X_C v = X_LOAD(x, (iz * x_rows + iy) * x_row + ix);
        if (bz < 0 || v > best || (v != v && best == best)) best = v, bz = iz, by = iy, bx = ix;
      }
  X_STORE(Y, at, best);
#ifdef COLUMN_MAJOR
  indices[at] = (long)plane * size + bz + x_depth * (by + (long)x_rows * bx);
#else
  indices[at] = (long)plane * size + ((long)bz * x_rows + by) * x_row + bx;
#endif
}

// Y[I[i]] = X[i], for a Y already zero; `shape` and `inner` where Y is larger than what I counts in.
__kernel void unpool(const int n, __global const X_T *restrict X, __global const long *restrict indices,
                     __global X_T *restrict Y, const int rank, __global const int *restrict shape,
                     __global const int *restrict strides, const long elements) {
  const int at = get_global_id(0);
  if (at >= n) return;
  long rest = indices[at], to = 0;
  if (rest < 0 || rest >= elements) return;
  for (int axis = rank - 1; axis >= 0; axis--) {
    const long i = rest % shape[axis];
    rest /= shape[axis];
    to += i * strides[axis];
  }
  Y[to] = X[at];
}
