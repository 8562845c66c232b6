// Direct convolution over flattened positions, in one, two or three dimensions.
//
// X holds planes (a channel of an image, one for each phase of the stride) of rows with their padding
// in place.  Position p of the output, counted in X's row length, meets tap t at X[p + taps[2 * t]]:
// one row of a tile is VW * NV neighbouring positions, whole rows and dimensions run into each other,
// and what lies in the padding is computed and dropped.  Strides, dilations and dimensions are all in
// the table of taps, so that one kernel serves them all.
//
// A work-item (output channels, positions, image and group) keeps OCT channels by NV vectors in
// registers.  Weights are packed by pack_convolution; the last tile of positions overlaps the one
// before it.
//
// Types: X is stored as R, computed as R; D the bias, C the output.  Defines: OCT, NV, VW; HAS_BIAS where there is one.
#include "vector.cl"

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void convolve(
    __global const R_T *restrict X, __global const R_T *restrict W, __global const int *restrict taps,
    __global const D_T *restrict D, __global C_T *restrict Y, const int channels, const int n_taps,
    const int plane, const int groups, const int out_channels, const int positions, const int tiles,
    const int chunk, const int rows, const int row, const int out_rows, const int out_row,
    const int y_plane, const int y_origin, const int y_depth, const int y_row, const int y_step) {
  const int block = get_global_id(0), group = get_global_id(2) % groups;
  const int channel = block * OCT;
  __global const R_T *x0 = X + (size_t)get_global_id(2) * channels * plane;
  __global const R_T *w0 = W + (size_t)(group * get_global_size(0) + block) * channels * n_taps * OCT;
  __global C_T *y0 = Y + ((size_t)get_global_id(2) * out_channels + channel) * y_plane + y_origin;
  const int end = min((int)(get_global_id(1) + 1) * chunk, tiles);
  for (int tile = get_global_id(1) * chunk; tile < end; tile++) {
    const int position = max(min(tile * VW * NV, positions - VW * NV), 0);
    VEC sum[OCT][NV];
#pragma unroll
    for (int m = 0; m < OCT; m++) {
#ifdef HAS_BIAS
      const VEC start = (VEC)((R_C)D_LOAD(D, group * out_channels + min(channel + m, out_channels - 1)));
#else
      const VEC start = (VEC)(0);
#endif
#pragma unroll
      for (int n = 0; n < NV; n++) sum[m][n] = start;
    }
    __global const R_T *w = w0;
    __global const R_T *x = x0 + position;
    for (int c = 0; c < channels; c++) {
      for (int t = 0; t < n_taps; t++) {
        const int offset = taps[2 * t];
        VEC v[NV];
#pragma unroll
        for (int n = 0; n < NV; n++) v[n] = VLOAD(n, x + offset);
#pragma unroll
        for (int m = 0; m < OCT; m++) {
          const VEC weight = (VEC)(w[m]);
#pragma unroll
          for (int n = 0; n < NV; n++) sum[m][n] = MAD(weight, v[n], sum[m][n]);
        }
        w += OCT;
      }
      x += plane;
    }
    int ox = position % row, oy = position / row % rows, oz = position / (row * rows);
#pragma unroll
    for (int n = 0; n < NV; n++) {
      __global C_T *y = y0 + oz * y_depth + oy * y_row + ox * y_step;
      if (ox + VW <= out_row && oy < out_rows && y_step == 1 && position + (n + 1) * VW <= positions) {
#pragma unroll
        for (int m = 0; m < OCT; m++)
          if (channel + m < out_channels) store_some(y + (size_t)m * y_plane, sum[m][n], VW);
      } else {
        R_C part[OCT][VW];
#pragma unroll
        for (int m = 0; m < OCT; m++) VSTORE(sum[m][n], 0, part[m]);
        int bx = ox, by = oy, bz = oz;
        for (int i = 0; i < min(VW, positions - position - n * VW); i++) {
          if (bx < out_row && by < out_rows)
            for (int m = 0; m < min(OCT, out_channels - channel); m++)
              C_STORE(y0 + (size_t)m * y_plane, bz * y_depth + by * y_row + bx * y_step, part[m][i]);
          if (++bx == row) {
            bx = 0;
            if (++by == rows) by = 0, bz++;
          }
        }
      }
      for (ox += VW; ox >= row; ox -= row)
        if (++oy == rows) oy = 0, oz++;
    }
  }
}
