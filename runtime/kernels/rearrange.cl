// Elements kept, dropped or mirrored by where they are, one a work-item.  T is the unsigned integer
// of an element's size; I the type of the lengths.

#if defined(TRILU)
// The upper (j - i >= k) or lower (j - i <= k) triangle of each matrix; zeros elsewhere.
__kernel void trilu(const int n, __global const T *restrict in, __global T *restrict out, const int rows,
                    const int columns, const int k, const int upper) {
  const int index = get_global_id(0);
  if (index >= n) return;
  const int distance = index % columns - index / columns % rows;
  const int kept = upper ? distance >= k : distance <= k;
  out[index] = kept ? in[index] : 0;
}
#elif defined(REVERSE)
// Axes [times][batches][inner], or [batches][times][inner] where batch_first: the first lengths[batch]
// times of each batch in reverse.
__kernel void reverse_sequence(const int n, __global const T *restrict in, __global const I_T *restrict lengths,
                               __global T *restrict out, const int times, const int batches, const int inner,
                               const int batch_first) {
  const int index = get_global_id(0);
  if (index >= n) return;
  const int row = index / inner;
  const int batch = batch_first ? row / times : row % batches;
  const int time = batch_first ? row % times : row / batches;
  const int length = clamp((int)I_LOAD(lengths, batch), 0, times);
  const int from = time < length ? length - 1 - time : time;
  out[index] = in[(long)(batch_first ? batch * times + from : from * batches + batch) * inner + index % inner];
}
#else
// The sum, for each element of an image [images][spatial], of the places of columns
// [images][block][places] that cover it.  Types: X the columns and the image.  Defines: RANK.
#define AT(vector, k) (((const int *)&vector)[k])
__kernel void columns_to_image(const int n, __global const X_T *restrict columns, __global X_T *restrict image,
                               const int16 image_shape, const int16 block, const int16 places,
                               const int16 strides, const int16 begin, const int16 dilation, const int cells,
                               const int total) {
  const int index = get_global_id(0);
  if (index >= n) return;
  int rest = index;
  int at[RANK];
  for (int k = RANK - 1; k >= 0; k--) {
    at[k] = rest % AT(image_shape, k) + AT(begin, k);
    rest /= AT(image_shape, k);
  }
  __global const X_T *source = columns + (long)rest * cells * total;
  X_C sum = 0;
  for (int cell = 0; cell < cells; cell++) {
    int inner = cell, place = 0, step = 1, covered = 1;
    for (int k = RANK - 1; k >= 0; k--) {
      const int origin = at[k] - inner % AT(block, k) * AT(dilation, k);
      inner /= AT(block, k);
      covered = covered && origin >= 0 && origin % AT(strides, k) == 0 && origin / AT(strides, k) < AT(places, k);
      place += origin / AT(strides, k) * step;
      step *= AT(places, k);
    }
    if (covered) sum += X_LOAD(source, (long)cell * total + place);
  }
  X_STORE(image, index, sum);
}
#endif
