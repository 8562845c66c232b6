// Elements moved from any strided layout to any other: what slices, transposes, joins, tiles and
// broadcasts are.  Only the size of an element matters: T is the unsigned integer of that size.
//
// A layout is up to 16 outer dimensions (RANK of them, in the first components of int16s), then lines,
// then elements of a line.  Strides count elements; 0 broadcasts, negative ones walk backwards.
// Defines: T, RANK, W (lanes of a vector, 16 or 8).
#define JOIN(a, b) a##b
#define CALL(f, x) f(x)
#define WIDE(t, w) JOIN(t, w)
#define VEC WIDE(T, W)
#define LOAD WIDE(vload, W)
#define STORE WIDE(vstore, W)

#define OUTER(index, in_at, out_at)                                   \
  {                                                                   \
    int rest = index;                                                 \
    _Pragma("unroll") for (int k = RANK - 1; k >= 0; k--) {           \
      const int size = ((const int *)&sizes)[k], i = rest % size;     \
      rest /= size;                                                   \
      in_at += (long)i * ((const int *)&in_strides)[k];               \
      out_at += (long)i * ((const int *)&out_strides)[k];             \
    }                                                                 \
  }

inline void copy_run(__global const T *in, __global T *out, const int n) {
  int i = 0;
  for (; i + W <= n; i += W) STORE(LOAD(0, in + i), 0, out + i);
  if (i < n && n >= W)
    STORE(LOAD(0, in + n - W), 0, out + n - W);
  else
    for (; i < n; i++) out[i] = in[i];
}

inline void fill_run(const T value, __global T *out, const int n) {
  int i = 0;
  for (; i + W <= n; i += W) STORE((VEC)(value), 0, out + i);
  for (; i < n; i++) out[i] = value;
}

// W by W elements, rows of `in` becoming columns of `out`: log2(W) perfect shuffles.
inline void transpose_tile(__global const T *in, const int in_step, __global T *out, const int out_line) {
  VEC v[W], u[W];
#pragma unroll
  for (int i = 0; i < W; i++) v[i] = LOAD(0, in + (long)i * in_step);
#define SHUFFLE(to, from)                         \
  _Pragma("unroll") for (int i = 0; i < W / 2; i++) { \
    to[2 * i].even = from[i].lo;                  \
    to[2 * i].odd = from[i + W / 2].lo;           \
    to[2 * i + 1].even = from[i].hi;              \
    to[2 * i + 1].odd = from[i + W / 2].hi;       \
  }
  SHUFFLE(u, v)
  SHUFFLE(v, u)
  SHUFFLE(u, v)
#if W == 16
  SHUFFLE(v, u)
#define RESULT v
#else
#define RESULT u
#endif
#pragma unroll
  for (int i = 0; i < W; i++) STORE(RESULT[i], 0, out + (long)i * out_line);
}

// A block of lines: out[l][c] = in[l][c].
inline void move_block(__global const T *in, __global T *out, const int lines, const int in_line, const int out_line,
                       const int length, const int in_step, const int out_step) {
  if (in_step == 1 && out_step == 1) {
    for (int l = 0; l < lines; l++) copy_run(in + (long)l * in_line, out + (long)l * out_line, length);
  } else if (in_step == 0 && out_step == 1) {
    for (int l = 0; l < lines; l++) fill_run(in[(long)l * in_line], out + (long)l * out_line, length);
  } else if (in_line == 1 && out_step == 1 && lines >= W && length >= W) {
    // The last tile of either direction overlaps the one before it.
    for (int l = 0; l < lines; l += W) {
      const int line = min(l, lines - W);
      for (int c = 0; c < length; c += W) {
        const int column = min(c, length - W);
        transpose_tile(in + line + (long)column * in_step, in_step, out + (long)line * out_line + column, out_line);
      }
    }
  } else {
    for (int l = 0; l < lines; l++)
      for (int c = 0; c < length; c++)
        out[(long)l * out_line + (long)c * out_step] = in[(long)l * in_line + (long)c * in_step];
  }
}

// A work-item moves `share` of the blocks that the lines of all outer indices are cut into.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void move_blocks(
    __global const T *restrict in, __global T *restrict out, const long in_start, const long out_start,
    const int16 sizes, const int16 in_strides, const int16 out_strides, const int lines, const int in_line,
    const int out_line, const int length, const int in_step, const int out_step, const int block_lines,
    const int block_length, const int blocks, const int share) {
  const int across = (length + block_length - 1) / block_length;
  const int down = (lines + block_lines - 1) / block_lines;
  const int end = min((int)(get_global_id(0) + 1) * share, blocks);
  for (int block = get_global_id(0) * share; block < end; block++) {
    long in_at = in_start, out_at = out_start;
    OUTER(block / (across * down), in_at, out_at)
    const int line = block / across % down * block_lines, column = block % across * block_length;
    in_at += (long)line * in_line + (long)column * in_step;
    out_at += (long)line * out_line + (long)column * out_step;
    move_block(in + in_at, out + out_at, min(block_lines, lines - line), in_line, out_line,
               min(block_length, length - column), in_step, out_step);
  }
}

// One element a work-item, for devices whose neighbouring work-items share their memory accesses.
__kernel void move_elements(const int n, __global const T *restrict in, __global T *restrict out,
                            const long in_start, const long out_start, const int16 sizes,
                            const int16 in_strides, const int16 out_strides) {
  const int index = get_global_id(0);
  if (index >= n) return;
  long in_at = in_start, out_at = out_start;
  OUTER(index, in_at, out_at)
  out[out_at] = in[in_at];
}
