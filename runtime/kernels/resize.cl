// Resizing by tables: which elements of an axis each output takes, and with which weights.
// Types: X input, Y output, R what is computed in; E the element's size where nothing is computed.

// Y[i] = X[sum of the axes' offsets]: every output takes one element.  `sizes` are the output's axes,
// `first` where the offsets of each begin in `offsets`; an offset below zero gives `outside`.
#ifdef GATHER
__kernel void gather_axes(const int n, __global const E_T *restrict X, __global E_T *restrict Y,
                          const int rank, __global const int *restrict sizes,
                          __global const int *restrict first, __global const int *restrict offsets,
                          const E_C outside) {
  const int at = get_global_id(0);
  if (at >= n) return;
  int rest = at, from = 0, inside = 1;
  for (int axis = rank - 1; axis >= 0; axis--) {
    const int offset = offsets[first[axis] + rest % sizes[axis]];
    rest /= sizes[axis];
    inside &= offset >= 0;
    from += offset;
  }
  E_STORE(Y, at, inside ? E_LOAD(X, from) : outside);
}
#else
// One axis: Y[a][o][b] = sum over t of weights[o][t] * X[a][places[o][t]][b].
__kernel void interpolate(const int n, __global const X_T *restrict X, __global Y_T *restrict Y,
                          __global const int *restrict places, __global const R_T *restrict weights,
                          const int taps, const int from, const int to, const int inner, const R_C outside) {
  const int at = get_global_id(0);
  if (at >= n) return;
  const int b = at % inner, o = at / inner % to;
  __global const X_T *x = X + (size_t)(at / inner / to) * from * inner + b;
  R_C sum = places[o * taps] < 0 ? outside : (R_C)0;
  if (places[o * taps] >= 0)
    for (int t = 0; t < taps; t++) sum += weights[o * taps + t] * (R_C)X_LOAD(x, places[o * taps + t] * inner);
#ifdef Y_IS_INTEGER
  sum = clamp(rint(sum), (R_C)LOWEST, (R_C)HIGHEST);
#endif
  Y_STORE(Y, at, sum);
}
#endif
