// Where along the middle of [outer, length, inner] the best element is, one work-item for each result.
// BETTER(v, best): whether v replaces what was found before it.  The first NaN is better than any number.
__kernel void arg(const int n, __global const I_T *restrict in, __global long *restrict out,
                  const int length, const int inner) {
  const int i = get_global_id(0);
  if (i >= n) return;
  __global const I_T *p = in + (size_t)(i / inner) * length * inner + i % inner;
  I_C best = I_LOAD(p, 0);
  int place = 0;
  for (int j = 1; j < length && best == best; j++) {
    const I_C v = I_LOAD(p, (size_t)j * inner);
    if (BETTER(v, best) || v != v) {
      best = v;
      place = j;
    }
  }
  out[i] = place;
}
