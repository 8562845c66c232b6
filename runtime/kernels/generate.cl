// Tensors made from numbers alone.  Y is the result's type; T the unsigned integer of its size.

// y[i] = start + i * delta, in the type that Y is computed in.
#ifndef T
__kernel void sequence(const int n, __global Y_T *restrict y, const Y_C start, const Y_C delta) {
  const int i = get_global_id(0);
  if (i >= n) return;
  Y_STORE(y, i, start + (Y_C)i * delta);
}
#else
// Rows of `columns` elements: `one` on the diagonal that is k above the main one, 0 elsewhere.
__kernel void eye(const int n, __global T *restrict y, const T one, const int columns, const int k) {
  const int i = get_global_id(0);
  if (i >= n) return;
  y[i] = i % columns - i / columns == k ? one : 0;
}
#endif
