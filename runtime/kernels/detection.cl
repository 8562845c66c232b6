// Suppression of boxes that overlap a better one.  Boxes [batch, count, 4], scores [batch, classes, count].

// Corners (low y, low x, high y, high x), whichever way a box is written.
inline float4 corners(__global const float *box) {
#ifdef CENTRE
  const float2 centre = (float2)(box[1], box[0]), half_ = (float2)(box[3], box[2]) / 2;
  return (float4)(centre - half_, centre + half_);
#else
  const float2 a = (float2)(box[0], box[1]), b = (float2)(box[2], box[3]);
  return (float4)(min(a, b), max(a, b));
#endif
}

inline float area(const float4 box) { return (box.z - box.x) * (box.w - box.y); }

// Whether two boxes share more than a part of what both cover.
inline int overlap(const float4 a, const float4 b, const float part) {
  const float2 sides = min(a.zw, b.zw) - max(a.xy, b.xy);
  if (sides.x <= 0 || sides.y <= 0) return 0;
  const float shared = sides.x * sides.y, whole = area(a) + area(b) - shared;
  return area(a) > 0 && area(b) > 0 && whole > 0 && shared / whole > part;
}

// One work-item for a class of an image: its boxes from the best score on (places), kept where no kept one
// overlaps.  kept: [rows, most]; counts: [rows].
__kernel void suppress(const int n, __global const float *restrict boxes, __global const float *restrict scores,
                       __global const long *restrict places, __global int *restrict kept,
                       __global int *restrict counts, const int classes, const int count, const int most,
                       const float part, const float lowest) {
  const int i = get_global_id(0);
  if (i >= n) return;
  __global const float *own = boxes + (size_t)(i / classes) * count * 4;
  __global int *mine = kept + (size_t)i * most;
  int found = 0;
  for (int j = 0; j < count && found < most; j++) {
    const int place = (int)places[(size_t)i * count + j];
    if (!(scores[(size_t)i * count + j] > lowest)) break;
    const float4 box = corners(own + (size_t)place * 4);
    int free = 1;
    for (int k = 0; k < found && free; k++) free = !overlap(box, corners(own + (size_t)mine[k] * 4), part);
    if (free) mine[found++] = place;
  }
  counts[i] = found;
}

// All rows' kept boxes, one after the other, as (batch, class, box), and how many there are.
__kernel void gather_kept(const int n, __global const int *restrict kept, __global const int *restrict counts,
                          __global long *restrict out, __global long *restrict total, const int classes,
                          const int most) {
  const int i = get_global_id(0);
  if (i >= n) return;
  long start = 0;
  for (int row = 0; row < i; row++) start += counts[row];
  for (int k = 0; k < counts[i]; k++) {
    __global long *row = out + (start + k) * 3;
    row[0] = i / classes;
    row[1] = i % classes;
    row[2] = kept[(size_t)i * most + k];
  }
  if (i == n - 1) total[0] = start + counts[i];
}
