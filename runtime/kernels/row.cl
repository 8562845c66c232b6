// Rows of numbers read and written LANES at a time.
// Roles: I what the row holds, A what it is computed in.  LANES: numbers in a vector of A.
// How a vector of I is read: NATIVE (OpenCL has the type), HALF, BFLOAT16, else one by one.
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define A_V JOIN(A_C, LANES)
#define A_VLOAD JOIN(vload, LANES)
#define A_VSTORE JOIN(vstore, LANES)

inline A_V row_load(__global const I_T *p) {
#if defined(NATIVE)
  return JOIN(convert_, A_V)(A_VLOAD(0, p));
#elif defined(HALF)
  return JOIN(vload_half, LANES)(0, p);
#elif defined(BFLOAT16)
  return JOIN(as_, A_V)(JOIN(convert_uint, LANES)(A_VLOAD(0, p)) << 16);
#else
  A_C lanes[LANES];
  for (int l = 0; l < LANES; l++) lanes[l] = (A_C)I_LOAD(p, l);
  return A_VLOAD(0, lanes);
#endif
}

#ifdef ROW_STORE
// Write a vector of A as numbers of role O.
inline void row_store(__global O_T *p, A_V value) {
#if defined(STORE_NATIVE)
  A_VSTORE(value, 0, p);
#elif defined(STORE_HALF)
  JOIN(JOIN(vstore_half, LANES), _rte)(value, 0, p);
#else
  A_C lanes[LANES];
  A_VSTORE(value, 0, lanes);
  for (int l = 0; l < LANES; l++) O_STORE(p, l, lanes[l]);
#endif
}
#endif
