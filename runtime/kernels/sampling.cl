// Reading an image at places that are computed: grids, regions of interest, deformed kernels.
// Types: X the image and the output, G the places, R what is computed in.

#ifdef GRID
inline R_C reflected(R_C x, R_C low, R_C high) {
  const R_C range = high - low;
  if (range <= 0) return low;
  const R_C distance = x < low ? low - x : (x > high ? x - high : (R_C)0);
  if (distance == 0) return x;
  const int turns = (int)(distance / range);
  const R_C rest = distance - turns * range;
  return (x < low) == (turns % 2 == 0) ? low + rest : high - rest;
}

inline int inside(int i, int size, R_C low, R_C high) {
#if PADDING == 0
  return i >= 0 && i < size ? i : -1;
#elif PADDING == 1
  return clamp(i, 0, size - 1);
#else
  return clamp((int)reflected((R_C)i, low, high), 0, size - 1);
#endif
}

#if TAPS == 4
inline R_C weight(int t, R_C x) {
  const R_C a = (R_C)-0.75, d = fabs(x - (t - 1));
  return d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}
#elif TAPS == 2
inline R_C weight(int t, R_C x) { return t ? x : 1 - x; }
#else
inline R_C weight(int t, R_C x) { return 1; }
#endif

// Y[n][c][place] = X[n][c] at the normalized place grid[n][place], whose last axis counts from the last
// spatial axis of X.  Three axes; an image has size 1 in front.  TAPS an axis: 1, 2 or 4.
__kernel void grid_sample(const int n, __global const X_T *restrict X, __global const G_T *restrict grid,
                          __global X_T *restrict Y, const int channels, const int places, const int rank,
                          const int size_z, const int size_y, const int size_x) {
  const int at = get_global_id(0);
  if (at >= n) return;
  const int place = at % places, image = at / places / channels;
  const int sizes[3] = {size_x, size_y, size_z};
  __global const X_T *x = X + (size_t)(at / places) * size_z * size_y * size_x;
  int index[3][TAPS];
  R_C weights[3][TAPS];
  for (int axis = 0; axis < 3; axis++) {
    const int size = sizes[axis];
    R_C v = 0;
    if (axis < rank) {
      const R_C g = (R_C)G_LOAD(grid, ((size_t)image * places + place) * rank + axis);
#ifdef ALIGN
      v = (g + 1) / 2 * (size - 1);
#else
      v = ((g + 1) * size - 1) / 2;
#endif
    }
#ifdef ALIGN
    const R_C low = 0, high = size - 1;
#else
    const R_C low = (R_C)-0.5, high = size - (R_C)0.5;
#endif
#if TAPS == 1
    v = rint(v);
#endif
#if PADDING == 1
    v = v < low || v > high ? clamp(v, (R_C)0, (R_C)(size - 1)) : v;
#elif PADDING == 2
    v = reflected(v, low, high);
#endif
    v = clamp(v, (R_C)-(1 << 28), (R_C)(1 << 28));
    const int base = (int)floor(v);
    for (int t = 0; t < TAPS; t++) {
      const int i = axis < rank ? base + t - (TAPS == 4) : 0;
      index[axis][t] = axis < rank || t == 0 ? inside(i, size, low, high) : -1;
      weights[axis][t] = axis < rank ? weight(t, v - base) : (R_C)1;
    }
  }
  R_C sum = 0;
  for (int tz = 0; tz < TAPS; tz++)
    for (int ty = 0; ty < TAPS; ty++)
      for (int tx = 0; tx < TAPS; tx++) {
        if (index[2][tz] < 0 || index[1][ty] < 0 || index[0][tx] < 0) continue;
        const int from = (index[2][tz] * size_y + index[1][ty]) * size_x + index[0][tx];
        sum += weights[2][tz] * weights[1][ty] * weights[0][tx] * (R_C)X_LOAD(x, from);
      }
#ifdef X_IS_INTEGER
  sum = rint(sum);
#endif
  X_STORE(Y, at, sum);
}
#endif

#ifdef REGIONS
// Y[r][c][ph][pw]: the mean or maximum of samples, bilinear, in a bin of region r of image batch[r].
__kernel void roi_align(const int n, __global const X_T *restrict X, __global const X_T *restrict rois,
                        __global const long *restrict batch, __global X_T *restrict Y, const int channels,
                        const int height, const int width, const int out_height, const int out_width,
                        const int sampling_ratio, const float spatial_scale) {
  const int at = get_global_id(0);
  if (at >= n) return;
  const int pw = at % out_width, ph = at / out_width % out_height;
  const int c = at / (out_width * out_height) % channels, r = at / (out_width * out_height * channels);
  __global const X_T *x = X + ((size_t)batch[r] * channels + c) * height * width;
  const R_C scale = (R_C)spatial_scale;
#ifdef HALF_PIXEL
  const R_C shift = (R_C)0.5, least = -INFINITY;
#else
  const R_C shift = 0, least = 1;
#endif
  const R_C x0 = (R_C)X_LOAD(rois, 4 * r) * scale - shift, y0 = (R_C)X_LOAD(rois, 4 * r + 1) * scale - shift;
  const R_C region_width = fmax((R_C)X_LOAD(rois, 4 * r + 2) * scale - shift - x0, least);
  const R_C region_height = fmax((R_C)X_LOAD(rois, 4 * r + 3) * scale - shift - y0, least);
  const R_C bin_height = region_height / out_height, bin_width = region_width / out_width;
  const int rows = sampling_ratio > 0 ? sampling_ratio : (int)ceil(region_height / out_height);
  const int columns = sampling_ratio > 0 ? sampling_ratio : (int)ceil(region_width / out_width);
  R_C result = 0;
  for (int iy = 0; iy < rows; iy++)
    for (int ix = 0; ix < columns; ix++) {
      R_C y = y0 + ph * bin_height + (iy + (R_C)0.5) * bin_height / rows;
      R_C v = x0 + pw * bin_width + (ix + (R_C)0.5) * bin_width / columns;
      R_C p[4] = {0, 0, 0, 0};
      if (y >= -1 && y <= height && v >= -1 && v <= width) {
        y = clamp(y, (R_C)0, (R_C)(height - 1));
        v = clamp(v, (R_C)0, (R_C)(width - 1));
        const int top = (int)y, left = (int)v;
        const int bottom = min(top + 1, height - 1), right = min(left + 1, width - 1);
        const R_C ly = y - top, lx = v - left;
        p[0] = (1 - ly) * (1 - lx) * (R_C)X_LOAD(x, top * width + left);
        p[1] = (1 - ly) * lx * (R_C)X_LOAD(x, top * width + right);
        p[2] = ly * (1 - lx) * (R_C)X_LOAD(x, bottom * width + left);
        p[3] = ly * lx * (R_C)X_LOAD(x, bottom * width + right);
      }
#ifdef MAXIMUM
      const R_C most = fmax(fmax(p[0], p[1]), fmax(p[2], p[3]));
      result = iy || ix ? fmax(result, most) : most;
#else
      result += p[0] + p[1] + p[2] + p[3];
#endif
    }
#ifndef MAXIMUM
  result /= max(rows * columns, 1);
#endif
  X_STORE(Y, at, result);
}
#endif

#ifdef DEFORMED
// Columns for a matrix product: P[n][c][tap][place] = mask * X[n][c] at the tap's place plus its offset,
// bilinear, zero outside.
__kernel void deformed_columns(const int n, __global const X_T *restrict X, __global const X_T *restrict offset,
                               __global const X_T *restrict mask, __global R_T *restrict P, const int channels,
                               const int height, const int width, const int out_height, const int out_width,
                               const int kernel_y, const int kernel_x, const int stride_y, const int stride_x,
                               const int dilation_y, const int dilation_x, const int begin_y, const int begin_x,
                               const int offset_groups) {
  const int at = get_global_id(0);
  if (at >= n) return;
  const int places = out_height * out_width, taps = kernel_y * kernel_x;
  const int place = at % places, tap = at / places % taps;
  const int c = at / places / taps % channels, image = at / places / taps / channels;
  const int group = image * offset_groups + c / (channels / offset_groups);
  const int o = (group * taps + tap) * 2 * places + place;
  const R_C y = place / out_width * stride_y - begin_y + tap / kernel_x * dilation_y + (R_C)X_LOAD(offset, o);
  const R_C x =
      place % out_width * stride_x - begin_x + tap % kernel_x * dilation_x + (R_C)X_LOAD(offset, o + places);
  __global const X_T *plane = X + (size_t)(image * channels + c) * height * width;
  R_C sum = 0;
  if (y > -1 && y < height && x > -1 && x < width) {
    const int top = (int)floor(y), left = (int)floor(x);
    for (int dy = 0; dy < 2; dy++)
      for (int dx = 0; dx < 2; dx++) {
        const int iy = top + dy, ix = left + dx;
        if (iy < 0 || iy >= height || ix < 0 || ix >= width) continue;
        sum += (1 - fabs(y - iy)) * (1 - fabs(x - ix)) * (R_C)X_LOAD(plane, iy * width + ix);
      }
  }
#ifdef MASK
  sum *= (R_C)X_LOAD(mask, (group * taps + tap) * places + place);
#endif
  P[at] = sum;
}
#endif
