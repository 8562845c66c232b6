// Random numbers: Philox 4x32 with ten rounds (Salmon et al., SC 2011), a function of a key and a
// position, so that a seed gives the same numbers on every device whatever the order of work-items.

inline uint4 philox(uint4 position, uint2 key) {
  for (int round = 0; round < 10; round++) {
    const uint low0 = position.x * 0xD2511F53u, high0 = mul_hi(position.x, 0xD2511F53u);
    const uint low1 = position.z * 0xCD9E8D57u, high1 = mul_hi(position.z, 0xCD9E8D57u);
    position = (uint4)(high1 ^ position.y ^ key.x, low1, high0 ^ position.w ^ key.y, low0);
    key += (uint2)(0x9E3779B9u, 0xBB67AE85u);
  }
  return position;
}

// The four words of element i's draw; seed is one 64-bit number in memory.
inline uint4 draw(__global const ulong *seed, int i) {
  const ulong number = seed[0];
  return philox((uint4)((uint)i, 0, 0, 0), (uint2)((uint)number, (uint)(number >> 32)));
}

// In [0, 1), from the top 24 bits.
inline float unit(uint word) { return (word >> 8) * 0x1p-24f; }

__kernel void uniform(const int n, __global const ulong *seed, __global Y_T *y, const float low, const float high) {
  const int i = get_global_id(0);
  if (i < n) Y_STORE(y, i, fma(unit(draw(seed, i).x), high - low, low));
}

// Box and Muller: the logarithm's argument is in (0, 1].
__kernel void normal(const int n, __global const ulong *seed, __global Y_T *y, const float mean, const float scale) {
  const int i = get_global_id(0);
  if (i >= n) return;
  const uint4 words = draw(seed, i);
  const float radius = sqrt(-2.0f * log(1.0f - unit(words.x)));
  Y_STORE(y, i, fma(scale * radius, cospi(2.0f * unit(words.y)), mean));
}

#ifdef P_T
__kernel void bernoulli(const int n, __global const ulong *seed, __global const P_T *p, __global Y_T *y) {
  const int i = get_global_id(0);
  if (i < n) Y_STORE(y, i, unit(draw(seed, i).x) < P_LOAD(p, i));
}

// One class a sample from unnormalised log-probabilities p[batch][classes].
__kernel void multinomial(const int n, __global const ulong *seed, __global const P_T *p, __global Y_T *y,
    const int samples, const int classes) {
  const int i = get_global_id(0);
  if (i >= n) return;
  const int row = i / samples * classes;
  float largest = -INFINITY, total = 0, passed = 0;
  for (int c = 0; c < classes; c++) largest = fmax(largest, (float)P_LOAD(p, row + c));
  for (int c = 0; c < classes; c++) total += exp((float)P_LOAD(p, row + c) - largest);
  const float point = unit(draw(seed, i).x) * total;
  int chosen = 0;
  for (; chosen < classes - 1; chosen++) {
    passed += exp((float)P_LOAD(p, row + chosen) - largest);
    if (point < passed) break;
  }
  Y_STORE(y, i, chosen);
}
#endif

// The next run draws other numbers.
__kernel void advance(__global ulong *seed) { seed[0] += 0x9E3779B97F4A7C15ul; }
