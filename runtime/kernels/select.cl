// Which elements are there: places of those that are not zero, and groups of equal rows.
// Types: X the elements.  Defines: STEP, the kernels wanted.

#if defined(COUNT)
// counts[c]: how many of chunk c's elements are not zero.
__kernel void count_nonzero(const int n, __global const X_T *restrict x, __global int *restrict counts,
                            const int size, const int chunk) {
  const int c = get_global_id(0);
  if (c >= n) return;
  int count = 0;
  for (int i = c * chunk; i < min((c + 1) * chunk, size); i++) count += X_LOAD(x, i) != 0;
  counts[c] = count;
}
// counts become where each chunk's begin, the sum of those before it; one work-item.
__kernel void running_sums(const int n, __global int *restrict counts, __global long *restrict total,
                           const int chunks) {
  if (get_global_id(0) > 0) return;
  int sum = 0;
  for (int c = 0; c < chunks; c++) {
    const int count = counts[c];
    counts[c] = sum;
    sum += count;
  }
  total[0] = sum;
}
#elif defined(PLACES)
// y[axis][k]: the index on each axis of the k-th element that is not zero.
__kernel void nonzero_places(const int n, __global const X_T *restrict x, __global const int *restrict starts,
                             __global long *restrict y, const int size, const int chunk, const int total,
                             const int rank, const int16 sizes) {
  const int c = get_global_id(0);
  if (c >= n) return;
  int k = starts[c];
  for (int i = c * chunk; i < min((c + 1) * chunk, size); i++) {
    if (X_LOAD(x, i) == 0) continue;
    int rest = i;
    for (int axis = rank - 1; axis >= 0; axis--) {
      const int length = ((const int *)&sizes)[axis];
      y[(long)axis * total + k] = rest % length;
      rest /= length;
    }
    k++;
  }
}
// sums[i]: how many of x[0..i] are not zero.
__kernel void inclusive_sums(const int n, __global const X_T *restrict x, __global const int *restrict starts,
                             __global int *restrict sums, const int size, const int chunk) {
  const int c = get_global_id(0);
  if (c >= n) return;
  int sum = starts[c];
  for (int i = c * chunk; i < min((c + 1) * chunk, size); i++) {
    sum += X_LOAD(x, i) != 0;
    sums[i] = sum;
  }
}
#elif defined(ROWS)
// -1, 0 or 1: two rows in lexicographic order, NaN after all numbers.
inline int compare_rows(__global const X_T *x, const int a, const int b, const int width) {
  for (int i = 0; i < width; i++) {
    const X_C u = X_LOAD(x, (long)a * width + i), v = X_LOAD(x, (long)b * width + i);
    if (u < v || (v != v && u == u)) return -1;
    if (u > v || (u != u && v == v)) return 1;
  }
  return 0;
}
__kernel void count_up(const int n, __global int *restrict order) {
  if (get_global_id(0) < n) order[get_global_id(0)] = get_global_id(0);
}
// One pass of a stable merge sort: sorted runs of `run` row numbers become runs of twice the length.
// Each work-item finds the place of one row by a binary search in the other run.
__kernel void merge_runs(const int n, __global const X_T *restrict x, __global const int *restrict from,
                         __global int *restrict to, const int width, const int run) {
  const int i = get_global_id(0);
  if (i >= n) return;
  const int row = from[i], first = i / run % 2 == 0;
  const int pair = i / (2 * run) * 2 * run;
  const int other = first ? min(pair + run, n) : pair;
  const int end = min(other + run, n);
  int low = other, high = end;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    const int order = compare_rows(x, from[middle], row, width);
    if (order < 0 || (order == 0 && !first)) low = middle + 1;
    else high = middle;
  }
  to[pair + (i - (first ? pair : pair + run)) + (low - other)] = row;
}
// flags[i]: whether row i in order differs from the one before it.
__kernel void mark_groups(const int n, __global const X_T *restrict x, __global const int *restrict order,
                          __global uchar *restrict flags, const int width) {
  const int i = get_global_id(0);
  if (i >= n) return;
  flags[i] = i == 0 || compare_rows(x, order[i - 1], order[i], width) != 0;
}
#else
// Groups are numbered from 1 in `groups`, by row in order.  begins[g]: where group g begins;
// firsts[row]: whether the row is the first of its group.
__kernel void begin_groups(const int n, __global const int *restrict order, __global const int *restrict groups,
                           __global int *restrict begins, __global uchar *restrict firsts) {
  const int i = get_global_id(0);
  if (i >= n) return;
  const int begin = i == 0 || groups[i - 1] != groups[i];
  firsts[order[i]] = begin;
  if (begin) begins[groups[i] - 1] = i;
}
// For each group: its first row, its size; for each row: its group.  The groups' own order, or where
// `ranks` counts first rows up to each row, the order in which their first rows come.
__kernel void finish_groups(const int n, __global const int *restrict order, __global const int *restrict groups,
                            __global const int *restrict begins, __global const int *restrict ranks,
                            __global long *restrict indices, __global long *restrict inverse,
                            __global long *restrict counts, const int sorted) {
  const int i = get_global_id(0);
  if (i >= n) return;
  const int group = groups[i] - 1, begin = begins[group], row = order[begin];
  const int place = sorted ? group : ranks[row] - 1;
  inverse[order[i]] = place;
  if (i == begin) indices[place] = row;
  if (i == n - 1 || groups[i + 1] != groups[i]) counts[place] = i + 1 - begin;
}
#endif
