// Softmax, its logarithm and hardmax along the middle of [outer, length, inner].
// Roles: I what is read and written, A what it is computed in.
// EXACT: I holds what A computes, so the exponentials can rest in the output.  LOGARITHM: log softmax.
#include "row.cl"
#define LARGER(a, b) ((((b) > (a)) | ((b) != (b))) ? (b) : (a))

#ifdef ROWS
#define ROW_REDUCE row_max
#define PRE(v) v
#define COMBINE(a, b) LARGER(a, b)
#define IDENTITY (-INFINITY)
#include "row_reduce.cl"

#define ROW_REDUCE row_sum
#if defined(EXACT) && !defined(LOGARITHM)
#define PRE(v) v
#else
#define PRE(v) exp((v) - shift)
#endif
#define COMBINE(a, b) ((a) + (b))
#define IDENTITY 0
#include "row_reduce.cl"

// Write OF(v) for every element of a row.
#define WRITE_ROW(p, q, OF)                        \
  {                                                \
    int j = 0;                                     \
    for (; j + LANES <= length; j += LANES) {      \
      const A_V v = row_load(p + j);               \
      row_store(q + j, OF(v));                     \
    }                                              \
    for (; j < length; j++) {                      \
      const A_C v = (A_C)I_LOAD(p, j);             \
      O_STORE(q, j, OF(v));                        \
    }                                              \
  }

// inner is 1: one work-item for a row.
__kernel void softmax_rows(const int n, __global const I_T *restrict in, __global O_T *restrict out,
                           const int length) {
  const int i = get_global_id(0);
  if (i >= n) return;
  __global const I_T *p = in + (size_t)i * length;
  __global O_T *q = out + (size_t)i * length;
  const A_C shift = row_max(p, length, 0);
#if defined(LOGARITHM)
  const A_C rest = log(row_sum(p, length, shift));
#define OF(v) (((v) - shift) - rest)
  WRITE_ROW(p, q, OF)
#elif defined(EXACT)
#define OF(v) exp((v) - shift)
  WRITE_ROW(p, q, OF)
#undef OF
  const A_C scale = 1 / row_sum(q, length, 0);
#define OF(v) ((v) * scale)
  WRITE_ROW(q, q, OF)
#else
  const A_C scale = 1 / row_sum(p, length, shift);
#define OF(v) (exp((v) - shift) * scale)
  WRITE_ROW(p, q, OF)
#endif
}
#else

// inner is more than 1: one work-item for a column; neighbours read neighbouring elements.
__kernel void softmax_columns(const int n, __global const I_T *restrict in, __global O_T *restrict out,
                              const int length, const int inner) {
  const int i = get_global_id(0);
  if (i >= n) return;
  const size_t start = (size_t)(i / inner) * length * inner + i % inner;
  __global const I_T *p = in + start;
  __global O_T *q = out + start;
  A_C shift = -INFINITY;
  for (int j = 0; j < length; j++) {
    const A_C v = (A_C)I_LOAD(p, (size_t)j * inner);
    shift = LARGER(shift, v);
  }
  A_C sum = 0;
  for (int j = 0; j < length; j++) {
    const A_C e = exp((A_C)I_LOAD(p, (size_t)j * inner) - shift);
#if defined(EXACT) && !defined(LOGARITHM)
    O_STORE(q, (size_t)j * inner, e);
#endif
    sum += e;
  }
#ifdef LOGARITHM
  const A_C rest = log(sum);
  for (int j = 0; j < length; j++) {
    const size_t at = (size_t)j * inner;
    O_STORE(q, at, ((A_C)I_LOAD(p, at) - shift) - rest);
  }
#else
  const A_C scale = 1 / sum;
  for (int j = 0; j < length; j++) {
    const size_t at = (size_t)j * inner;
#ifdef EXACT
    O_STORE(q, at, (A_C)I_LOAD(q, at) * scale);
#else
    O_STORE(q, at, exp((A_C)I_LOAD(p, at) - shift) * scale);
#endif
  }
#endif
}
#endif

// 1 at the first of the largest along the middle of [outer, length, inner], 0 elsewhere.
__kernel void hardmax(const int n, __global const I_T *restrict in, __global O_T *restrict out,
                      const int length, const int inner) {
  const int i = get_global_id(0);
  if (i >= n) return;
  const size_t start = (size_t)(i / inner) * length * inner + i % inner;
  A_C best = (A_C)I_LOAD(in, start);
  int place = 0;
  for (int j = 1; j < length; j++) {
    const A_C v = (A_C)I_LOAD(in, start + (size_t)j * inner);
    if (v > best) {
      best = v;
      place = j;
    }
  }
  for (int j = 0; j < length; j++) O_STORE(out, start + (size_t)j * inner, (A_C)(j == place));
}
