// Rows taken or put where indices say.  An index is first made a row number (32 bits, in range), then
// rows of `inner` elements are moved.  T is the unsigned integer of an element's size; I the type of
// the indices.  Indices count from the end where they are negative; what is outside is clamped, so
// that no index reads or writes memory that is not the tensor's.

inline int wrap(const long index, const int size) {
  return (int)clamp(index < 0 ? index + size : index, 0L, max((long)size - 1, 0L));
}

#if defined(ROWS_ALONG)
// rows[outer][i] = outer * size + index i, one for each of `count` indices.
__kernel void rows_along(const int n, __global const I_T *restrict indices, __global int *restrict rows,
                         const int count, const int size) {
  const int at = get_global_id(0);
  if (at >= n) return;
  rows[at] = at / count * size + wrap((long)I_LOAD(indices, at % count), size);
}
#elif defined(ROWS_ND)
// rows[batch][i] from tuples of `depth` indices into `sizes`; a batch has `rows_of_batch` rows.
__kernel void rows_nd(const int n, __global const I_T *restrict indices, __global int *restrict rows,
                      const int count, const int depth, const int16 sizes, const int rows_of_batch) {
  const int at = get_global_id(0);
  if (at >= n) return;
  int row = 0;
  for (int k = 0; k < depth; k++) {
    const int size = ((const int *)&sizes)[k];
    row = row * size + wrap((long)I_LOAD(indices, (long)at * depth + k), size);
  }
  rows[at] = at / count * rows_of_batch + row;
}
#elif defined(ROWS_ELEMENTS)
// rows[i]: the element of a tensor (strides in `steps`) that lies where i does in the indices, but on
// one axis where index i says.
__kernel void rows_elements(const int n, __global const I_T *restrict indices, __global int *restrict rows,
                            const int rank, const int axis, const int axis_size, const int16 sizes,
                            const int16 steps) {
  const int at = get_global_id(0);
  if (at >= n) return;
  int rest = at, row = 0;
  for (int k = rank - 1; k >= 0; k--) {
    const int size = ((const int *)&sizes)[k];
    const int i = k == axis ? wrap((long)I_LOAD(indices, at), axis_size) : rest % size;
    row += i * ((const int *)&steps)[k];
    rest /= size;
  }
  rows[at] = row;
}
#elif defined(ROWS_SEQUENCE)
// rows of a cache [outer][cache] that an update [outer][length] goes to, from where `starts` says for
// each batch (`of_batch` outer rows each); -1 past its end unless it goes around.
__kernel void rows_sequence(const int n, __global const long *restrict starts, __global int *restrict rows,
                            const int length, const int cache, const int of_batch, const int circular) {
  const int at = get_global_id(0);
  if (at >= n) return;
  const int outer = at / length;
  long place = starts[outer / of_batch] + at % length;
  if (circular) place = (place % cache + cache) % cache;
  rows[at] = place < 0 || place >= cache ? -1 : outer * cache + (int)place;
}
#elif defined(TAKE)
// out[r] = in[rows[r]], in pieces of at most `piece` elements; a work-item moves `share` of them.
// V: the vector of W elements.
#define JOIN(a, b) a##b
#define CALL(f, x) f(x)
#define WIDE(t, w) JOIN(t, w)
#define LOAD WIDE(vload, W)
#define STORE WIDE(vstore, W)
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void take_rows(
    __global const T *restrict in, __global const int *restrict rows, __global T *restrict out, const int inner,
    const int piece, const int pieces, const int share) {
  const int across = (inner + piece - 1) / piece;
  const int end = min((int)(get_global_id(0) + 1) * share, pieces);
  for (int p = get_global_id(0) * share; p < end; p++) {
    const int row = p / across, column = p % across * piece, count = min(piece, inner - column);
    __global const T *from = in + (long)rows[row] * inner + column;
    __global T *to = out + (long)row * inner + column;
    int i = 0;
    for (; i + W <= count; i += W) STORE(LOAD(0, from + i), 0, to + i);
    for (; i < count; i++) to[i] = from[i];
  }
}
// One element a work-item.
__kernel void take_elements(const int n, __global const T *restrict in, __global const int *restrict rows,
                            __global T *restrict out, const int inner) {
  const int at = get_global_id(0);
  if (at >= n) return;
  out[at] = in[(long)rows[at / inner] * inner + at % inner];
}
#elif defined(PUT)
// out[rows[r]] = COMBINE(out[rows[r]], in[r]) for each of `count` rows in turn.  A work-item owns some
// of the target's rows and columns, so that rows named twice meet in order and without races.
// Types: X the elements (by size alone where COMBINE takes the new one).
__kernel void put_rows(const int n, __global const X_T *restrict in, __global const int *restrict rows,
                       __global X_T *restrict out, const int count, const int inner, const int columns,
                       const int parts, const int part) {
  const int at = get_global_id(0);
  if (at >= n) return;
  const int first = at % parts * part, last = first + part;
  const int column = at / parts * columns, end = min(column + columns, inner);
  for (int r = 0; r < count; r++) {
    const int row = rows[r];
    if (row < first || row >= last) continue;
    __global const X_T *from = in + (long)r * inner;
    __global X_T *to = out + (long)row * inner;
    for (int i = column; i < end; i++) {
#ifdef COMBINE
      const X_C a = X_LOAD(to, i), b = X_LOAD(from, i);
      X_STORE(to, i, COMBINE);
#else
      to[i] = from[i];
#endif
    }
  }
}
#else
// y[outer][depth][inner] = values[1] where the depth is the index, else values[0].
__kernel void one_hot(const int n, __global const I_T *restrict indices, __global const T *restrict values,
                      __global T *restrict y, const int depth, const int inner) {
  const int at = get_global_id(0);
  if (at >= n) return;
  const int outer = at / inner / depth, place = at / inner % depth;
  long index = (long)I_LOAD(indices, outer * inner + at % inner);
  if (index < 0) index += depth;
  y[at] = values[index == place];
}
#endif
