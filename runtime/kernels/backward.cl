// Gradients of convolution and pooling over three spatial axes (fewer: sizes of 1 in front).
// Each work-item computes one element of the result, so nothing is added atomically and results are
// the same in every run.  X: element type; the sums are of its compute type.
//
// Geometry, each a triple d (depth), h, w: I input sizes, O output sizes, K kernel, S strides,
// D dilation, P padding before.

#define GEOMETRY const int Id, const int Ih, const int Iw, const int Od, const int Oh, const int Ow, \
  const int Kd, const int Kh, const int Kw, const int Sd, const int Sh, const int Sw, \
  const int Dd, const int Dh, const int Dw, const int Pd, const int Ph, const int Pw

// The place of the window whose tap k lies on input element i, or -1.
inline int place(const int i, const int k, const int stride, const int dilation, const int pad, const int places) {
  const int start = i + pad - k * dilation;
  if (start < 0 || start % stride) return -1;
  const int o = start / stride;
  return o < places ? o : -1;
}

// dx[N][C][I] from dy[N][M][O] and w[M][C / group][K]
__kernel void conv_input(const int n, __global const X_T *restrict dy, __global const X_T *restrict w,
    __global X_T *restrict dx, const int C, const int M, const int group, GEOMETRY) {
  const int i = get_global_id(0);
  if (i >= n) return;
  int rest = i;
  const int iw = rest % Iw; rest /= Iw;
  const int ih = rest % Ih; rest /= Ih;
  const int id = rest % Id; rest /= Id;
  const int c = rest % C;
  const int batch = rest / C;
  const int Cg = C / group, Mg = M / group, g = c / Cg;
  X_C sum = 0;
  for (int kd = 0; kd < Kd; kd++) {
    const int od = place(id, kd, Sd, Dd, Pd, Od);
    if (od < 0) continue;
    for (int kh = 0; kh < Kh; kh++) {
      const int oh = place(ih, kh, Sh, Dh, Ph, Oh);
      if (oh < 0) continue;
      for (int kw = 0; kw < Kw; kw++) {
        const int ow = place(iw, kw, Sw, Dw, Pw, Ow);
        if (ow < 0) continue;
        const int tap = (kd * Kh + kh) * Kw + kw, taps = Kd * Kh * Kw;
        for (int m = g * Mg; m < (g + 1) * Mg; m++)
          sum += X_LOAD(dy, (((batch * M + m) * Od + od) * Oh + oh) * Ow + ow)
               * X_LOAD(w, (m * Cg + c - g * Cg) * taps + tap);
      }
    }
  }
  X_STORE(dx, i, sum);
}

// dw[M][C / group][K] from x[N][C][I] and dy[N][M][O]
__kernel void conv_weight(const int n, __global const X_T *restrict x, __global const X_T *restrict dy,
    __global X_T *restrict dw, const int N, const int C, const int M, const int group, GEOMETRY) {
  const int i = get_global_id(0);
  if (i >= n) return;
  int rest = i;
  const int kw = rest % Kw; rest /= Kw;
  const int kh = rest % Kh; rest /= Kh;
  const int kd = rest % Kd; rest /= Kd;
  const int Cg = C / group;
  const int cg = rest % Cg;
  const int m = rest / Cg;
  const int c = (m / (M / group)) * Cg + cg;
  // Places whose tap lies inside of the input, along the innermost axis.
  const int shift = kw * Dw - Pw;
  const int first = shift >= 0 ? 0 : (-shift + Sw - 1) / Sw;
  const int last = Iw - 1 - shift < 0 ? 0 : min(Ow, (Iw - 1 - shift) / Sw + 1);
  X_C total = 0;
  for (int batch = 0; batch < N; batch++)
    for (int od = 0; od < Od; od++) {
      const int id = od * Sd - Pd + kd * Dd;
      if (id < 0 || id >= Id) continue;
      X_C plane = 0;
      for (int oh = 0; oh < Oh; oh++) {
        const int ih = oh * Sh - Ph + kh * Dh;
        if (ih < 0 || ih >= Ih) continue;
        const int row_x = (((batch * C + c) * Id + id) * Ih + ih) * Iw + shift;
        const int row_y = (((batch * M + m) * Od + od) * Oh + oh) * Ow;
        X_C row = 0;
        for (int ow = first; ow < last; ow++) row += X_LOAD(x, row_x + ow * Sw) * X_LOAD(dy, row_y + ow);
        plane += row;
      }
      total += plane;
    }
  X_STORE(dw, i, total);
}

// dx[NC][I] of a maximum over windows: the gradient of each window goes to its first maximum.
__kernel void max_pool(const int n, __global const X_T *restrict x, __global const X_T *restrict y,
    __global const X_T *restrict dy, __global X_T *restrict dx, GEOMETRY) {
  const int i = get_global_id(0);
  if (i >= n) return;
  int rest = i;
  const int iw = rest % Iw; rest /= Iw;
  const int ih = rest % Ih; rest /= Ih;
  const int id = rest % Id;
  const int plane = rest / Id;
  const X_C own = X_LOAD(x, i);
  X_C sum = 0;
  for (int kd = 0; kd < Kd; kd++)
    for (int kh = 0; kh < Kh; kh++)
      for (int kw = 0; kw < Kw; kw++) {
        const int od = place(id, kd, Sd, Dd, Pd, Od), oh = place(ih, kh, Sh, Dh, Ph, Oh);
        const int ow = place(iw, kw, Sw, Dw, Pw, Ow);
        if (od < 0 || oh < 0 || ow < 0) continue;
        const int o = ((plane * Od + od) * Oh + oh) * Ow + ow;
        if (X_LOAD(y, o) != own) continue;
        bool earlier = false;
        for (int t = 0; t < (kd * Kh + kh) * Kw + kw && !earlier; t++) {
          const int jd = od * Sd - Pd + t / (Kh * Kw) * Dd, jh = oh * Sh - Ph + t / Kw % Kh * Dh;
          const int jw = ow * Sw - Pw + t % Kw * Dw;
          if (jd < 0 || jh < 0 || jw < 0 || jd >= Id || jh >= Ih || jw >= Iw) continue;
          earlier = X_LOAD(x, ((plane * Id + jd) * Ih + jh) * Iw + jw) == own;
        }
        if (!earlier) sum += X_LOAD(dy, o);
      }
  X_STORE(dx, i, sum);
}

// Elements of the window at place o along one axis that the mean divides by.
inline int counted(const int o, const int I, const int K, const int S, const int D, const int P, const int end,
    const int include) {
  int count = 0;
  for (int k = 0; k < K; k++) {
    const int i = o * S - P + k * D;
    count += include ? i < I + end : i >= 0 && i < I;
  }
  return count;
}

// dx[NC][I] of a mean over windows.  E: padding after, which counts where include is set.
__kernel void average_pool(const int n, __global const X_T *restrict dy, __global X_T *restrict dx,
    const int Ed, const int Eh, const int Ew, const int include, GEOMETRY) {
  const int i = get_global_id(0);
  if (i >= n) return;
  int rest = i;
  const int iw = rest % Iw; rest /= Iw;
  const int ih = rest % Ih; rest /= Ih;
  const int id = rest % Id;
  const int plane = rest / Id;
  X_C sum = 0;
  for (int kd = 0; kd < Kd; kd++)
    for (int kh = 0; kh < Kh; kh++)
      for (int kw = 0; kw < Kw; kw++) {
        const int od = place(id, kd, Sd, Dd, Pd, Od), oh = place(ih, kh, Sh, Dh, Ph, Oh);
        const int ow = place(iw, kw, Sw, Dw, Pw, Ow);
        if (od < 0 || oh < 0 || ow < 0) continue;
        const int count = counted(od, Id, Kd, Sd, Dd, Pd, Ed, include)
            * counted(oh, Ih, Kh, Sh, Dh, Ph, Eh, include) * counted(ow, Iw, Kw, Sw, Dw, Pw, Ew, include);
        sum += X_LOAD(dy, ((plane * Od + od) * Oh + oh) * Ow + ow) / count;
      }
  X_STORE(dx, i, sum);
}
