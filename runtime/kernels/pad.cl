// Padding: out = in at the places that a table for each axis names, `fill` where it names -1.
// T is the unsigned integer of an element's size; RANK counts the outer axes, which fill the last
// components of the int16s.  A table's offset of -1 says that the axis is taken as it is.
// Defines: T, RANK, W (lanes of a vector).
#define JOIN(a, b) a##b
#define CALL(f, x) f(x)
#define WIDE(t, w) JOIN(t, w)
#define VEC WIDE(T, W)
#define LOAD WIDE(vload, W)
#define STORE WIDE(vstore, W)

// Where row `row` comes from, or -1.
#define FIND_ROW(row, from)                                             \
  {                                                                     \
    int rest = row;                                                     \
    _Pragma("unroll") for (int k = RANK - 1; k >= 0; k--) {             \
      const int size = ((const int *)&sizes)[k], i = rest % size;       \
      const int table = ((const int *)&table_at)[k];                    \
      rest /= size;                                                     \
      const int place = table < 0 ? i : tables[table + i];              \
      if (place < 0) from = -1;                                         \
      if (from >= 0) from += (long)place * ((const int *)&in_strides)[k]; \
    }                                                                   \
  }

// A work-item makes `share` rows of `length` elements.  Columns first..last-1 are a run of the source
// from column `skip`; the others go by the last axis's table (which is not read where there are none).
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void pad_rows(
    __global const T *restrict in, __global T *restrict out, __global const int *restrict tables, const T fill,
    const int16 sizes, const int16 in_strides, const int16 table_at, const int rows, const int length,
    const int first, const int last, const int skip, const int columns_at, const int share) {
  const int end = min((int)(get_global_id(0) + 1) * share, rows);
  for (int row = get_global_id(0) * share; row < end; row++) {
    long from = 0;
    FIND_ROW(row, from)
    __global T *to = out + (long)row * length;
    if (from < 0) {
      int i = 0;
      for (; i + W <= length; i += W) STORE((VEC)(fill), 0, to + i);
      for (; i < length; i++) to[i] = fill;
      continue;
    }
    __global const T *source = in + from;
    for (int i = 0; i < first; i++) {
      const int place = tables[columns_at + i];
      to[i] = place < 0 ? fill : source[place];
    }
    __global const T *run = source + skip - first;
    int i = first;
    for (; i + W <= last; i += W) STORE(LOAD(0, run + i), 0, to + i);
    for (; i < last; i++) to[i] = run[i];
    for (i = last; i < length; i++) {
      const int place = tables[columns_at + i];
      to[i] = place < 0 ? fill : source[place];
    }
  }
}

// One element a work-item, for devices whose neighbouring work-items share their memory accesses.
__kernel void pad_elements(const int n, __global const T *restrict in, __global T *restrict out,
                           __global const int *restrict tables, const T fill, const int16 sizes,
                           const int16 in_strides, const int16 table_at, const int length, const int first,
                           const int last, const int skip, const int columns_at) {
  const int index = get_global_id(0);
  if (index >= n) return;
  long from = 0;
  FIND_ROW(index / length, from)
  const int column = index % length;
  const int place = column >= first && column < last ? column - first + skip : tables[columns_at + column];
  out[index] = from < 0 || place < 0 ? fill : in[from + place];
}
