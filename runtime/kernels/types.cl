// Types that OpenCL C does not compute in: read as a wider type, written rounding to nearest even.
// Each section is included where its USE_ macro is defined.

#ifdef USE_bool
#define load_bool(p, i) ((p)[i])
#define store_bool(p, i, v) ((p)[i] = ((v) != 0))
#endif

#ifdef USE_float16
#define load_float16(p, i) vload_half(i, p)
#define store_float16(p, i, v) vstore_half_rte(v, i, p)
#endif

#ifdef USE_bfloat16
inline float decode_bfloat16(ushort bits) { return as_float((uint)bits << 16); }
inline ushort encode_bfloat16(float value) {
  uint bits = as_uint(value);
  if (isnan(value)) return (ushort)((bits >> 16) | 0x40);
  return (ushort)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
#define load_bfloat16(p, i) decode_bfloat16((p)[i])
#define store_bfloat16(p, i, v) ((p)[i] = encode_bfloat16(v))
#endif

#ifdef USE_int4
#define load_int4(p, i) ((p)[i])
#define store_int4(p, i, v) ((p)[i] = (char)(((char)((int)(v) << 4)) >> 4))
#endif

#ifdef USE_uint4
#define load_uint4(p, i) ((p)[i])
#define store_uint4(p, i, v) ((p)[i] = (uchar)((int)(v) & 15))
#endif

#ifdef USE_int2
#define load_int2(p, i) ((p)[i])
#define store_int2(p, i, v) ((p)[i] = (char)(((char)((int)(v) << 6)) >> 6))
#endif

#ifdef USE_uint2
#define load_uint2(p, i) ((p)[i])
#define store_uint2(p, i, v) ((p)[i] = (uchar)((int)(v) & 3))
#endif
