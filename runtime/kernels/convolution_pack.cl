// What convolution.cl reads: images with their padding in place, and weights by blocks of channels.
// Types: X, W storage of the operands, R what is computed in.

// P[plane][phase][depth][rows][row] = X, zero outside; a phase is one remainder of the stride.
// A work-item fills a span of rows of one phase of one channel.  `phases`: the start in X of each
// phase, as depth, row, column (the padding already taken off).
__kernel void pad_planes(__global const X_T *restrict X, __global R_T *restrict P, __global const int *phases,
                         const int n_phases, const int x_depth, const int x_rows, const int x_row,
                         const int depth, const int rows, const int row, const int plane, const int span,
                         const int stride_z, const int stride_y, const int stride_x) {
  const int phase = get_global_id(1);
  const int sz = phases[3 * phase], sy = phases[3 * phase + 1], sx = phases[3 * phase + 2];
  __global const X_T *source = X + (size_t)get_global_id(2) * x_depth * x_rows * x_row;
  __global R_T *target = P + ((size_t)get_global_id(2) * n_phases + phase) * plane;
  const int left = clamp((stride_x - 1 - sx) / stride_x, 0, row);
  const int right = clamp((x_row - sx + stride_x - 1) / stride_x, left, row);
  const int end = min((int)(get_global_id(0) + 1) * span, depth * rows);
  for (int r = get_global_id(0) * span; r < end; r++) {
    const int z = r / rows * stride_z + sz, y = r % rows * stride_y + sy;
    const int known = z >= 0 && z < x_depth && y >= 0 && y < x_rows;
    __global const X_T *in = source + (z * x_rows + y) * x_row + sx;
    __global R_T *out = target + r * row;
    const int first = known ? left : row, last = known ? right : row;
    for (int i = 0; i < first; i++) out[i] = (R_T)0;
    if (stride_x == 1)
      for (int i = first; i < last; i++) out[i] = (R_T)X_LOAD(in, i);
    else
      for (int i = first; i < last; i++) out[i] = (R_T)X_LOAD(in, i * stride_x);
    for (int i = last; i < row; i++) out[i] = (R_T)0;
  }
  if (end == depth * rows)
    for (int i = depth * rows * row; i < plane; i++) target[i] = (R_T)0;
}

// P[group][block][channel][tap][OCT] = W, zero past the last output channel.  `taps[2 * t + 1]` is the
// tap's place in a kernel; the strides of W say which axis is which (a transposed convolution's differ).
__kernel void pack_convolution(const int n, __global const W_T *restrict W, __global R_T *restrict P,
                               __global const int *taps, const int blocks, const int channels,
                               const int n_taps, const int out_channels, const int w_group, const int w_out,
                               const int w_in) {
  int rest = get_global_id(0);
  if (rest >= n) return;
  const int m = rest % OCT;
  rest /= OCT;
  const int t = rest % n_taps;
  rest /= n_taps;
  const int c = rest % channels;
  rest /= channels;
  const int channel = rest % blocks * OCT + m, group = rest / blocks;
  const int at = group * w_group + channel * w_out + c * w_in + taps[2 * t + 1];
  P[get_global_id(0)] = channel < out_channels ? (R_T)W_LOAD(W, at) : (R_T)0;
}
