// One number from a row, included once for each function wanted, after row.cl:
// ROW_REDUCE(p, count, shift) combines PRE(v) of all v in p[0..count) with COMBINE(a, b), from IDENTITY.
// PRE may use shift.  Four accumulators hide latency; blocks of BLOCK steps, each summed from nothing,
// keep the rounding error of long rows near that of pairwise summation.
#define BLOCK 64
inline A_C ROW_REDUCE(__global const I_T *p, const int count, const A_C shift) {
  A_C result = IDENTITY;
  int j = 0;
  if (count >= LANES) {
    A_V total = (A_V)(IDENTITY);
    while (j + LANES <= count) {
      const int stop = min(count - j, BLOCK * 4 * LANES) + j;
      A_V a = (A_V)(IDENTITY), b = a, c = a, d = a;
      for (; j + 4 * LANES <= stop; j += 4 * LANES) {
        const A_V v0 = row_load(p + j), v1 = row_load(p + j + LANES);
        const A_V v2 = row_load(p + j + 2 * LANES), v3 = row_load(p + j + 3 * LANES);
        const A_V w0 = PRE(v0), w1 = PRE(v1), w2 = PRE(v2), w3 = PRE(v3);
        a = COMBINE(a, w0);
        b = COMBINE(b, w1);
        c = COMBINE(c, w2);
        d = COMBINE(d, w3);
      }
      for (; j + LANES <= stop; j += LANES) {
        const A_V v = row_load(p + j);
        const A_V w = PRE(v);
        a = COMBINE(a, w);
      }
      a = COMBINE(a, b);
      c = COMBINE(c, d);
      a = COMBINE(a, c);
      total = COMBINE(total, a);
    }
    A_C lanes[LANES];
    A_VSTORE(total, 0, lanes);
    for (int width = LANES / 2; width > 0; width /= 2)
      for (int l = 0; l < width; l++) lanes[l] = COMBINE(lanes[l], lanes[l + width]);
    result = lanes[0];
  }
  A_C rest = IDENTITY;
  for (; j < count; j++) {
    const A_C v = (A_C)I_LOAD(p, j);
    const A_C w = PRE(v);
    rest = COMBINE(rest, w);
  }
  return COMBINE(result, rest);
}
#undef BLOCK
#undef ROW_REDUCE
#undef PRE
#undef COMBINE
#undef IDENTITY
