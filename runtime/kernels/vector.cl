// Vectors of VW numbers of role R, with partial loads and stores at the end of a row.
// Roles: R computed in, D loaded from, C stored to; DIRECT where D and C are stored as R.
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define VEC JOIN(R_C, VW)
#define VLOAD JOIN(vload, VW)
#define VSTORE JOIN(vstore, VW)
#ifdef R_IS_FLOAT
#define MAD(x, y, z) fma(x, y, z)
#else
#define MAD(x, y, z) ((x) * (y) + (z))
#endif

// The first `count` numbers from p, zeros after them.
inline VEC load_some(__global const D_T *p, int count) {
#ifdef DIRECT
  if (count >= VW) return VLOAD(0, p);
#endif
  R_C part[VW];
  for (int i = 0; i < VW; i++) part[i] = i < count ? (R_C)D_LOAD(p, i) : (R_C)0;
  return VLOAD(0, part);
}

// Store the first `count` numbers of a vector.
inline void store_some(__global C_T *p, VEC value, int count) {
#ifdef DIRECT
  if (count >= VW) {
    VSTORE(value, 0, p);
    return;
  }
#endif
  R_C part[VW];
  VSTORE(value, 0, part);
  for (int i = 0; i < min(count, VW); i++) C_STORE(p, i, part[i]);
}
