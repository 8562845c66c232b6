// Normalisations: rows to mean 0 and variance 1, or by given statistics; then a scale and a bias.
// Roles: I what is read, A what it is computed in, O what is written, S scale and bias, M statistics.
// CENTRE: the mean is taken off first (RMS normalisation leaves it).  SCALE, BIAS: they are there.
#include "row.cl"

#define ROW_REDUCE row_sum
#define PRE(v) v
#define COMBINE(a, b) ((a) + (b))
#define IDENTITY 0
#include "row_reduce.cl"

// The sum of squared differences from shift.
#define ROW_REDUCE row_spread
#define PRE(v) (((v) - shift) * ((v) - shift))
#define COMBINE(a, b) ((a) + (b))
#define IDENTITY 0
#include "row_reduce.cl"

// out = (in - mean) * factor + bias over a run of elements.
inline void write_run(__global const I_T *p, __global O_T *q, const int count, const A_C mean,
                      const A_C factor, const A_C bias) {
  int j = 0;
  for (; j + LANES <= count; j += LANES) row_store(q + j, (row_load(p + j) - mean) * factor + bias);
  for (; j < count; j++) O_STORE(q, j, ((A_C)I_LOAD(p, j) - mean) * factor + bias);
}

#ifdef ROWS
// Scale and bias have a number for each place in a row, of the type of in.
__kernel void normalize_rows(const int n, __global const I_T *restrict in, __global const I_T *restrict scale,
                             __global const I_T *restrict bias, __global O_T *restrict out,
                             __global M_T *restrict means, __global M_T *restrict inverses,
                             const int length, const A_C epsilon) {
  const int i = get_global_id(0);
  if (i >= n) return;
  __global const I_T *p = in + (size_t)i * length;
  __global O_T *q = out + (size_t)i * length;
#ifdef CENTRE
  const A_C mean = row_sum(p, length, 0) / length;
#else
  const A_C mean = 0;
#endif
  const A_C factor = 1 / sqrt(row_spread(p, length, mean) / length + epsilon);
#ifdef MEAN
  M_STORE(means, i, mean);
#endif
#ifdef INVERSE
  M_STORE(inverses, i, factor);
#endif
#ifdef SCALE
  int j = 0;
  for (; j + LANES <= length; j += LANES) {
    A_V v = (row_load(p + j) - mean) * factor * row_load(scale + j);
#ifdef BIAS
    v += row_load(bias + j);
#endif
    row_store(q + j, v);
  }
  for (; j < length; j++) {
    A_C v = ((A_C)I_LOAD(p, j) - mean) * factor * (A_C)I_LOAD(scale, j);
#ifdef BIAS
    v += (A_C)I_LOAD(bias, j);
#endif
    O_STORE(q, j, v);
  }
#else
  write_run(p, q, length, mean, factor, 0);
#endif
}
#endif

#ifdef RUNS
// A row is several runs, each of one channel: run r of row i has channel (i * runs + r) % channels.
__kernel void normalize_runs(const int n, __global const I_T *restrict in, __global const S_T *restrict scale,
                             __global const S_T *restrict bias, __global O_T *restrict out,
                             const int runs, const int run, const int channels, const A_C epsilon) {
  const int i = get_global_id(0);
  if (i >= n) return;
  const int length = runs * run;
  __global const I_T *p = in + (size_t)i * length;
  __global O_T *q = out + (size_t)i * length;
  const A_C mean = row_sum(p, length, 0) / length;
  const A_C factor = 1 / sqrt(row_spread(p, length, mean) / length + epsilon);
  for (int r = 0; r < runs; r++) {
    const int channel = (i * runs + r) % channels;
    write_run(p + r * run, q + r * run, run, mean, factor * (A_C)S_LOAD(scale, channel),
              (A_C)S_LOAD(bias, channel));
  }
}
#endif

#ifdef CHANNELS
// One work-item for a run of one channel, with the statistics of that channel.
__kernel void normalize_channels(const int n, __global const I_T *restrict in,
                                 __global const S_T *restrict scale, __global const S_T *restrict bias,
                                 __global const M_T *restrict mean, __global const M_T *restrict variance,
                                 __global O_T *restrict out, const int run, const int channels,
                                 const A_C epsilon) {
  const int i = get_global_id(0);
  if (i >= n) return;
  const int c = i % channels;
  const A_C factor = (A_C)S_LOAD(scale, c) / sqrt((A_C)M_LOAD(variance, c) + epsilon);
  const size_t start = (size_t)i * run;
  write_run(in + start, out + start, run, (A_C)M_LOAD(mean, c), factor, (A_C)S_LOAD(bias, c));
}
#endif

#ifdef MOMENTS
// Mean and variance of each channel of [outer, channels, run], one work-item for a channel.
__kernel void channel_moments(const int n, __global const I_T *restrict in, __global A_T *restrict means,
                              __global A_T *restrict variances, const int outer, const int run) {
  const int c = get_global_id(0);
  if (c >= n) return;
  const A_C count = (A_C)outer * run;
  A_C sum = 0, spread = 0;
  for (int o = 0; o < outer; o++) sum += row_sum(in + ((size_t)o * n + c) * run, run, 0);
  const A_C mean = sum / count;
  for (int o = 0; o < outer; o++) spread += row_spread(in + ((size_t)o * n + c) * run, run, mean);
  means[c] = mean;
  variances[c] = spread / count;
}

// A running statistic: a share of the old one kept, a share of the batch's added.
__kernel void blend(const int n, __global const M_T *restrict old, __global const A_T *restrict batch,
                    __global M_T *restrict out, const A_C kept, const A_C added) {
  const int c = get_global_id(0);
  if (c >= n) return;
  const A_C before = kept == 0 ? (A_C)0 : (A_C)M_LOAD(old, c) * kept;
  M_STORE(out, c, before + batch[c] * added);
}
#endif

#ifdef POWER
// Divide by the norm along the middle of [outer, length, inner]: POWER 1, of absolute values; 2, Euclid's.
// A norm of 0 gives zeros.
__kernel void lp_normalize(const int n, __global const I_T *restrict in, __global O_T *restrict out,
                           const int length, const int inner) {
  const int i = get_global_id(0);
  if (i >= n) return;
  const size_t start = (size_t)(i / inner) * length * inner + i % inner;
  A_C norm = 0;
  for (int j = 0; j < length; j++) {
    const A_C v = (A_C)I_LOAD(in, start + (size_t)j * inner);
    norm += POWER == 1 ? fabs(v) : v * v;
  }
  if (POWER == 2) norm = sqrt(norm);
  for (int j = 0; j < length; j++) {
    const size_t at = start + (size_t)j * inner;
    O_STORE(out, at, norm == 0 ? (A_C)0 : (A_C)I_LOAD(in, at) / norm);
  }
}
#endif

#ifdef WINDOW
// Local response normalisation of [outer, channels, inner]: by the squares of `before` channels before
// and `after` after.
__kernel void local_response(const int n, __global const I_T *restrict in, __global O_T *restrict out,
                             const int channels, const int inner, const int before, const int after,
                             const A_C alpha, const A_C beta, const A_C bias) {
  const int i = get_global_id(0);
  if (i >= n) return;
  const int c = (i / inner) % channels;
  const int first = max(c - before, 0), last = min(c + after, channels - 1);
  A_C sum = 0;
  for (int k = first; k <= last; k++) {
    const A_C v = (A_C)I_LOAD(in, i + (k - c) * inner);
    sum += v * v;
  }
  O_STORE(out, i, (A_C)I_LOAD(in, i) / pow(bias + alpha * sum, beta));
}
#endif
