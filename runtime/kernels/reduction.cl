// Reduces the middle of [outer, length, inner], cut into chunks: out is [outer, chunks, inner].
// Roles: I what is read, A what it is accumulated in, O what is written.
// PRE_OF(v), COMBINE_OF(a, b), IDENTITY_OF, POST(a): one reduction.  POST may use count, the number of
// elements in a whole reduction.  SHIFTED: PRE_OF may use shift, the finite part of the maximum of what
// is reduced; POST_SHIFT(a, shift) puts it back.
// The larger or smaller of two, a NaN before any number, is LARGER(a, b) or SMALLER(a, b).
#include "row.cl"
#define LARGER(a, b) ((((b) > (a)) | ((b) != (b))) ? (b) : (a))
#define SMALLER(a, b) ((((b) < (a)) | ((b) != (b))) ? (b) : (a))

#ifdef A_IS_INTEGER
// The square root of a whole number, rounded down.
inline A_C whole_root(const A_C v) {
  if (v <= 0) return 0;
  A_C root = (A_C)sqrt((float)v);
  root = (root + v / root) / 2;
  while (root > v / root) root--;
  while (root + 1 <= v / (root + 1)) root++;
  return root;
}
#endif

#ifdef ROWS
// inner is 1: one work-item for a chunk of a row.
#ifdef SHIFTED
#define ROW_REDUCE row_max
#define PRE(v) v
#define COMBINE(a, b) LARGER(a, b)
#define IDENTITY (-INFINITY)
#include "row_reduce.cl"
#endif
#define ROW_REDUCE row_reduce
#define PRE PRE_OF
#define COMBINE COMBINE_OF
#define IDENTITY (IDENTITY_OF)
#include "row_reduce.cl"

__kernel void reduce_rows(const int n, __global const I_T *restrict in, __global O_T *restrict out,
                          const int length, const int chunk, const int chunks, const int count) {
  const int i = get_global_id(0);
  if (i >= n) return;
  const int start = (i % chunks) * chunk;
  const int size = max(min(chunk, length - start), 0);
  __global const I_T *p = in + (size_t)(i / chunks) * length + start;
#ifdef SHIFTED
  A_C shift = row_max(p, size, 0);
  if (isinf(shift)) shift = 0;
  const A_C total = row_reduce(p, size, shift);
  O_STORE(out, i, POST_SHIFT(total, shift));
#else
  const A_C total = row_reduce(p, size, 0);
  O_STORE(out, i, POST(total));
#endif
}
#else
// inner is more than 1: one work-item for a chunk of LANES neighbouring columns, or of the last fewer.
// Sums of BLOCK elements, each from nothing, are what is added up.
#define BLOCK 32

inline A_C reduce_column(__global const I_T *p, const int rows, const int inner, const A_C shift) {
  A_C total = IDENTITY_OF;
  for (int j = 0; j < rows;) {
    const int stop = min(rows - j, BLOCK) + j;
    A_C part = IDENTITY_OF;
    for (; j < stop; j++) {
      const A_C v = (A_C)I_LOAD(p, (size_t)j * inner);
      const A_C w = PRE_OF(v);
      part = COMBINE_OF(part, w);
    }
    total = COMBINE_OF(total, part);
  }
  return total;
}

inline A_V reduce_columns_of(__global const I_T *p, const int rows, const int inner, const A_V shift) {
  A_V total = (A_V)(IDENTITY_OF);
  for (int j = 0; j < rows;) {
    const int stop = min(rows - j, BLOCK) + j;
    A_V part = (A_V)(IDENTITY_OF);
    for (; j < stop; j++) {
      const A_V v = row_load(p + (size_t)j * inner);
      const A_V w = PRE_OF(v);
      part = COMBINE_OF(part, w);
    }
    total = COMBINE_OF(total, part);
  }
  return total;
}

#ifdef SHIFTED
inline A_C column_shift(__global const I_T *p, const int rows, const int inner) {
  A_C most = -INFINITY;
  for (int j = 0; j < rows; j++) {
    const A_C v = (A_C)I_LOAD(p, (size_t)j * inner);
    most = LARGER(most, v);
  }
  return isinf(most) ? (A_C)0 : most;
}
#endif

__kernel void reduce_columns(const int n, __global const I_T *restrict in, __global O_T *restrict out,
                             const int length, const int chunk, const int chunks, const int count,
                             const int inner) {
  const int i = get_global_id(0);
  if (i >= n) return;
  const int groups = (inner + LANES - 1) / LANES;
  const int column = (i % groups) * LANES;
  const int place = i / groups;
  const int start = (place % chunks) * chunk;
  const int rows = max(min(chunk, length - start), 0);
  __global const I_T *p = in + ((size_t)(place / chunks) * length + start) * inner + column;
  const size_t o = (size_t)place * inner + column;
  const int columns = min(inner - column, LANES);
#ifdef SHIFTED
  for (int l = 0; l < columns; l++) {
    const A_C shift = column_shift(p + l, rows, inner);
    const A_C total = reduce_column(p + l, rows, inner, shift);
    O_STORE(out, o + l, POST_SHIFT(total, shift));
  }
#else
  if (columns == LANES) {
    A_C lanes[LANES];
    A_VSTORE(reduce_columns_of(p, rows, inner, (A_V)(0)), 0, lanes);
    for (int l = 0; l < LANES; l++) O_STORE(out, o + l, POST(lanes[l]));
    return;
  }
  for (int l = 0; l < columns; l++) {
    const A_C total = reduce_column(p + l, rows, inner, 0);
    O_STORE(out, o + l, POST(total));
  }
#endif
}
#endif
