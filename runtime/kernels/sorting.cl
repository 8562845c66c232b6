// Sorting and running totals along the middle of [outer, length, inner].
// Roles: I the elements, BITS their bits, to be copied; A what totals are computed in.

#ifdef TOP
// The k best of each row, best first, one work-item for a row.  Of equal ones the first comes first;
// a NaN counts as the largest.  BETTER(a, b): whether value a comes before value b.
inline int before(__global const I_T *row, const int inner, const int a, const int b) {
  const I_C x = I_LOAD(row, (size_t)a * inner), y = I_LOAD(row, (size_t)b * inner);
  if (BETTER(x, y)) return 1;
  if (BETTER(y, x)) return 0;
  return a < b;
}

// Let the element at the root of a heap sink to its place; the root is what comes last.
inline void sink(__global const I_T *row, __global long *heap, const int inner, int root, const int size) {
  const int item = (int)heap[(size_t)root * inner];
  for (int child = 2 * root + 1; child < size; child = 2 * root + 1) {
    int next = (int)heap[(size_t)child * inner];
    if (child + 1 < size) {
      const int right = (int)heap[(size_t)(child + 1) * inner];
      if (before(row, inner, next, right)) {
        next = right;
        child++;
      }
    }
    if (!before(row, inner, item, next)) break;
    heap[(size_t)root * inner] = next;
    root = child;
  }
  heap[(size_t)root * inner] = item;
}

__kernel void top(const int n, __global const I_T *restrict in, __global BITS_T *restrict values,
                  __global long *restrict places, const int length, const int k, const int inner) {
  const int i = get_global_id(0);
  if (i >= n) return;
  __global const I_T *row = in + (size_t)(i / inner) * length * inner + i % inner;
  const size_t start = (size_t)(i / inner) * k * inner + i % inner;
  __global long *heap = places + start;
  for (int j = 0; j < k; j++) heap[(size_t)j * inner] = j;
  for (int root = k / 2 - 1; root >= 0; root--) sink(row, heap, inner, root, k);
  for (int j = k; j < length; j++) {
    if (!before(row, inner, j, (int)heap[0])) continue;
    heap[0] = j;
    sink(row, heap, inner, 0, k);
  }
  for (int size = k - 1; size > 0; size--) {
    const long last = heap[0];
    heap[0] = heap[(size_t)size * inner];
    heap[(size_t)size * inner] = last;
    sink(row, heap, inner, 0, size);
  }
  __global const BITS_T *bits = (__global const BITS_T *)row;
  for (int j = 0; j < k; j++) values[start + (size_t)j * inner] = bits[(size_t)heap[(size_t)j * inner] * inner];
}
#endif

#ifdef RUNNING
// Running totals, one work-item for a row: COMBINE(a, b) from IDENTITY, EXCLUSIVE of the element itself,
// from the other end where STEP is -1.
__kernel void running(const int n, __global const I_T *restrict in, __global I_T *restrict out,
                      const int length, const int inner) {
  const int i = get_global_id(0);
  if (i >= n) return;
  const size_t start = (size_t)(i / inner) * length * inner + i % inner;
  A_C total = IDENTITY;
  for (int j = 0; j < length; j++) {
    const size_t at = start + (size_t)(STEP > 0 ? j : length - 1 - j) * inner;
    const A_C v = (A_C)I_LOAD(in, at);
    const A_C next = COMBINE(total, v);
    I_STORE(out, at, EXCLUSIVE ? total : next);
    total = next;
  }
}
#endif
