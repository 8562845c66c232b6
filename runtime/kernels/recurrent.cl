// Steps of an LSTM (CELL 4), GRU (CELL 3) or plain RNN (CELL 1), CELL being its number of gates.
//
// The gates' share of the input is computed beforehand for all steps (XW).  A work-item advances BT
// sequences by `units` blocks of VW hidden units, from step `from` to step `to`: all steps in one launch
// where it has all the units, otherwise one launch a step.  Hidden and cell states alternate between two
// places; they have room for whole tiles, and sequences past the batch repeat the last one unstored.
//
// Types: X, Y storage of the operands, R what is computed in.  F, G, H are the activations; CLIP bounds
// what goes into F and G (other runtimes leave H unbounded).  Defines besides: BIAS, PEEPHOLES, LENGTHS, REVERSE (bit d: direction d runs
// backwards), BEFORE_RESET (linear_before_reset), COUPLED (input_forget).
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define VEC JOIN(R_C, VW)
#define VLOAD JOIN(vload, VW)
#define VSTORE JOIN(vstore, VW)

inline VEC some(__global const X_T *p, int count) {
  R_C part[VW];
  for (int i = 0; i < VW; i++) part[i] = i < count ? (R_C)X_LOAD(p, i) : (R_C)0;
  return VLOAD(0, part);
}

inline void put(__global Y_T *p, VEC value, int count) {
  R_C part[VW];
  VSTORE(value, 0, part);
  for (int i = 0; i < min(count, VW); i++) Y_STORE(p, i, part[i]);
}

// The initial states, or zeros, in the first of the two places: [direction][padded sequence][row].
__kernel void start(const int n, __global const X_T *restrict initial, __global R_T *restrict state,
                    const int present, const int batch, const int padded, const int hidden, const int row,
                    const int s_direction, const int s_batch) {
  const int at = get_global_id(0);
  if (at >= n) return;
  const int u = at % row, b = at / row % padded, d = at / row / padded;
  const int known = present && u < hidden && b < batch;
  state[at] = known ? (R_C)X_LOAD(initial, d * s_direction + b * s_batch + u) : (R_C)0;
}

// P[direction][block][k][gate][VW] = R[direction][gate * hidden + unit][k].
__kernel void pack_recurrent(const int n, __global const X_T *restrict R, __global R_T *restrict P,
                             const int blocks, const int hidden) {
  const int at = get_global_id(0);
  if (at >= n) return;
  int rest = at;
  const int v = rest % VW;
  rest /= VW;
  const int gate = rest % CELL;
  rest /= CELL;
  const int k = rest % hidden;
  rest /= hidden;
  const int unit = rest % blocks * VW + v, d = rest / blocks;
  P[at] = unit < hidden ? (R_C)X_LOAD(R, ((size_t)d * CELL * hidden + gate * hidden + unit) * hidden + k) : (R_C)0;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void advance(
    __global const R_T *restrict XW, __global const R_T *restrict RP, __global const X_T *restrict B,
    __global const X_T *restrict P, __global const int *restrict lengths, __global R_T *restrict hidden_states,
    __global R_T *restrict cell_states, __global R_T *restrict scratch, __global Y_T *restrict Y,
    __global Y_T *restrict Yh, __global Y_T *restrict Yc, const int steps, const int batch, const int hidden,
    const int row, const int units, const int from, const int to, const int phases, const int x_step,
    const int x_batch, const int y_step, const int y_direction, const int y_batch, const int h_direction,
    const int h_batch) {
  const int d = get_global_id(2), first = get_global_id(1) * BT, padded = get_global_size(1) * BT;
  const int blocks = row / VW, directions = get_global_size(2);
  const int block0 = get_global_id(0) * units, block1 = min(block0 + units, blocks);
  const int place = (d * padded + first) * row, other = directions * padded * row;
  __global const R_T *xw = XW + (size_t)d * steps * batch * CELL * hidden;
  for (int s = from; s < to; s++) {
    __global const R_T *h = hidden_states + (s & 1) * other + place;
    __global R_T *h_new = hidden_states + (~s & 1) * other + place;
    __global const R_T *c = cell_states + (s & 1) * other + place;
    __global R_T *c_new = cell_states + (~s & 1) * other + place;
    for (int phase = 1; phase <= 2; phase++) {
      if (!(phases & phase)) continue;
      for (int block = block0; block < block1; block++) {
        const int u = block * VW;
        VEC sum[BT][CELL];
#pragma unroll
        for (int p = 0; p < BT; p++)
#pragma unroll
          for (int g = 0; g < CELL; g++) sum[p][g] = (VEC)(0);
        __global const R_T *r = RP + (size_t)(d * blocks + block) * hidden * CELL * VW;
        __global const R_T *in = phase == 1 ? h : scratch + place;
#if CELL == 3 && !defined(BEFORE_RESET)
        if (phase == 2) {
          for (int k = 0; k < hidden; k++) {
            const VEC v = VLOAD(CELL * k + 2, r);
#pragma unroll
            for (int p = 0; p < BT; p++) sum[p][2] = fma((VEC)(in[p * row + k]), v, sum[p][2]);
          }
        } else
#endif
          for (int k = 0; k < hidden; k++) {
            VEC v[CELL];
#pragma unroll
            for (int g = 0; g < CELL; g++) v[g] = VLOAD(CELL * k + g, r);
#pragma unroll
            for (int p = 0; p < BT; p++) {
              const VEC x = (VEC)(in[p * row + k]);
#pragma unroll
              for (int g = 0; g < CELL; g++) sum[p][g] = fma(x, v[g], sum[p][g]);
            }
          }
#pragma unroll
        for (int p = 0; p < BT; p++) {
          const int b = min(first + p, batch - 1), count = first + p < batch ? min(VW, hidden - u) : 0;
#ifdef LENGTHS
          const int length = min(lengths[b], steps);
#else
          const int length = steps;
#endif
          const int backwards = (REVERSE >> d) & 1, live = s < length;
          const int t = backwards && live ? length - 1 - s : s;
          __global const R_T *x = xw + (size_t)(t * x_step + b * x_batch) * CELL * hidden + u;
          const VEC before = VLOAD(0, h + p * row + u);
#define GATE(g) (VLOAD(0, x + (g) * hidden) + BIASED(g))
#ifdef BIAS
#define BIASED(g) some(B + (d * 2 + 1) * CELL * hidden + (g) * hidden + u, hidden - u)
#else
#define BIASED(g) (VEC)(0)
#endif
          VEC after = before;
#if CELL == 4
#ifdef PEEPHOLES
#define PEEP(g, v) some(P + (d * 3 + (g)) * hidden + u, hidden - u) * (v)
#else
#define PEEP(g, v) (VEC)(0)
#endif
          const VEC cell = VLOAD(0, c + p * row + u);
          const VEC in_gate = F(CLIP(sum[p][0] + GATE(0) + PEEP(0, cell)));
#ifdef COUPLED
          const VEC forget = (VEC)(1) - in_gate;
#else
          const VEC forget = F(CLIP(sum[p][2] + GATE(2) + PEEP(2, cell)));
#endif
          VEC next = forget * cell + in_gate * G(CLIP(sum[p][3] + GATE(3)));
          const VEC out_gate = F(CLIP(sum[p][1] + GATE(1) + PEEP(1, next)));
          if (live) after = out_gate * H(next);
          else next = cell;
          VSTORE(next, 0, c_new + p * row + u);
          if (s == steps - 1) put(Yc + d * h_direction + b * h_batch + u, next, count);
#elif CELL == 3
#ifdef BEFORE_RESET
          const VEC reset = F(CLIP(sum[p][1] + GATE(1)));
          const VEC update = F(CLIP(sum[p][0] + GATE(0)));
          const VEC candidate = G(CLIP(VLOAD(0, x + 2 * hidden) + reset * (sum[p][2] + BIASED(2))));
#else
          const int at = other + place + p * row + u;
          if (phase == 1) {
            VSTORE(F(CLIP(sum[p][1] + GATE(1))) * before, 0, scratch + place + p * row + u);
            VSTORE(F(CLIP(sum[p][0] + GATE(0))), 0, scratch + at);
            continue;
          }
          const VEC update = VLOAD(0, scratch + at);
          const VEC candidate = G(CLIP(sum[p][2] + GATE(2)));
#endif
          if (live) after = ((VEC)(1) - update) * candidate + update * before;
#else
          if (live) after = F(CLIP(sum[p][0] + GATE(0)));
#endif
          VSTORE(after, 0, h_new + p * row + u);
          put(Y + (size_t)t * y_step + d * y_direction + b * y_batch + u, live ? after : (VEC)(0), count);
          if (s == steps - 1) put(Yh + d * h_direction + b * h_batch + u, after, count);
        }
      }
    }
  }
}
