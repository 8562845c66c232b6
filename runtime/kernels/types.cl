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
#define load_int4(p, i) ((char)((char)((p)[i] << 4) >> 4))
#define store_int4(p, i, v) ((p)[i] = (char)((int)(v) & 15))
#endif

#ifdef USE_uint4
#define load_uint4(p, i) ((p)[i])
#define store_uint4(p, i, v) ((p)[i] = (uchar)((int)(v) & 15))
#endif

#ifdef USE_int2
#define load_int2(p, i) ((char)((char)((p)[i] << 6) >> 6))
#define store_int2(p, i, v) ((p)[i] = (char)((int)(v) & 3))
#endif

#ifdef USE_uint2
#define load_uint2(p, i) ((p)[i])
#define store_uint2(p, i, v) ((p)[i] = (uchar)((int)(v) & 3))
#endif

// --- 8- and 4-bit floats: sign, exponent of the rest, MANTISSA bits ------------------------------
//
// BIAS of the exponent; LARGEST finite code; what overflow gives where it does not saturate; NaN's
// code.  FNUZ types have no negative zero, and 0x80 is their only NaN.

#define SMALL_FLOAT(NAME, MANTISSA, BIAS, LARGEST, OVERFLOW, NOT_A_NUMBER, FNUZ)                          \
  inline float decode_##NAME(uchar code) {                                                                \
    const uint magnitude = code & 0x7f, sign = code >> 7;                                                 \
    if (FNUZ ? code == 0x80 : magnitude > (OVERFLOW == LARGEST + 1 ? OVERFLOW : LARGEST)) return NAN;     \
    if (!(FNUZ) && OVERFLOW == LARGEST + 1 && magnitude == OVERFLOW && OVERFLOW != NOT_A_NUMBER)          \
      return sign ? -INFINITY : INFINITY;                                                                 \
    if (!(FNUZ) && magnitude == NOT_A_NUMBER) return NAN;                                                 \
    const int exponent = magnitude >> MANTISSA, fraction = magnitude & ((1 << MANTISSA) - 1);             \
    const float value = exponent ? ldexp((float)(fraction + (1 << MANTISSA)), exponent - BIAS - MANTISSA) \
                                 : ldexp((float)fraction, 1 - BIAS - MANTISSA);                           \
    return sign ? -value : value;                                                                         \
  }                                                                                                       \
  inline uchar encode_##NAME(float value, int saturate) {                                                 \
    const uchar sign = (as_uint(value) >> 31) << 7;                                                       \
    if (isnan(value)) return FNUZ ? 0x80 : (uchar)(NOT_A_NUMBER | sign);                                  \
    const float size = fabs(value);                                                                       \
    if (isinf(value)) return saturate ? (uchar)(LARGEST | sign) : FNUZ ? 0x80 : (uchar)(OVERFLOW | sign); \
    const int exponent = size == 0 ? 1 - BIAS : max(ilogb(size), 1 - BIAS);                               \
    const int units = convert_int_rte(ldexp(size, MANTISSA - exponent));                                  \
    const int code = units + ((exponent + BIAS - 1) << MANTISSA);                                         \
    if (code > LARGEST) return saturate ? (uchar)(LARGEST | sign) : FNUZ ? 0x80 : (uchar)(OVERFLOW | sign); \
    return FNUZ && code == 0 ? 0 : (uchar)(code | sign);                                                  \
  }

#ifdef USE_float8_e4m3fn
SMALL_FLOAT(float8_e4m3fn, 3, 7, 0x7e, 0x7f, 0x7f, 0)
#define load_float8_e4m3fn(p, i) decode_float8_e4m3fn((p)[i])
#define store_float8_e4m3fn(p, i, v) ((p)[i] = encode_float8_e4m3fn(v, 1))
#endif

#ifdef USE_float8_e4m3fnuz
SMALL_FLOAT(float8_e4m3fnuz, 3, 8, 0x7f, 0x80, 0x80, 1)
#define load_float8_e4m3fnuz(p, i) decode_float8_e4m3fnuz((p)[i])
#define store_float8_e4m3fnuz(p, i, v) ((p)[i] = encode_float8_e4m3fnuz(v, 1))
#endif

#ifdef USE_float8_e5m2
SMALL_FLOAT(float8_e5m2, 2, 15, 0x7b, 0x7c, 0x7e, 0)
#define load_float8_e5m2(p, i) decode_float8_e5m2((p)[i])
#define store_float8_e5m2(p, i, v) ((p)[i] = encode_float8_e5m2(v, 1))
#endif

#ifdef USE_float8_e5m2fnuz
SMALL_FLOAT(float8_e5m2fnuz, 2, 16, 0x7f, 0x80, 0x80, 1)
#define load_float8_e5m2fnuz(p, i) decode_float8_e5m2fnuz((p)[i])
#define store_float8_e5m2fnuz(p, i, v) ((p)[i] = encode_float8_e5m2fnuz(v, 1))
#endif

// A power of two and nothing else; 0xff is NaN.  ROUNDING: 0 down, 1 up, 2 to nearest.
#ifdef USE_float8_e8m0fnu
inline float decode_float8_e8m0fnu(uchar code) {
  return code == 0xff ? NAN : code == 0 ? as_float(0x00400000) : as_float((uint)code << 23);
}
inline uchar encode_float8_e8m0fnu(float value, int saturate, int rounding) {
  const uint bits = as_uint(value);
  uint exponent = (bits >> 23) & 0xff;
  if (exponent == 0xff) return 0xff;
  const bool half_up = (bits & 0x400000) && ((bits & 0x3fffff) || exponent > 0);
  const bool up = rounding == 1 ? (bits & 0x7fffff) != 0 : rounding == 2 && half_up;
  if (up && !(saturate && exponent == 0xfe)) exponent++;
  return (uchar)exponent;
}
#define load_float8_e8m0fnu(p, i) decode_float8_e8m0fnu((p)[i])
#define store_float8_e8m0fnu(p, i, v) ((p)[i] = encode_float8_e8m0fnu(v, 1, 1))
#endif

// --- 6- and 4-bit floats: neither infinity nor NaN ------------------------------------------------
//
// What is too large becomes the largest, NaN becomes -0.  SIGN is the sign's bit, SIGN - 1 the largest code.

#define TINY_FLOAT(NAME, MANTISSA, BIAS, SIGN)                                                            \
  inline float decode_##NAME(uchar code) {                                                                \
    const int exponent = (code & (SIGN - 1)) >> MANTISSA, fraction = code & ((1 << MANTISSA) - 1);        \
    const float value = exponent ? ldexp((float)(fraction + (1 << MANTISSA)), exponent - BIAS - MANTISSA) \
                                 : ldexp((float)fraction, 1 - BIAS - MANTISSA);                           \
    return code & SIGN ? -value : value;                                                                  \
  }                                                                                                       \
  inline uchar encode_##NAME(float value) {                                                               \
    if (isnan(value)) return SIGN;                                                                        \
    const float size = fmin(fabs(value), 64.0f);                                                          \
    const int exponent = size == 0 ? 1 - BIAS : max(ilogb(size), 1 - BIAS);                               \
    const int units = convert_int_rte(ldexp(size, MANTISSA - exponent));                                  \
    const int code = min(units + ((exponent + BIAS - 1) << MANTISSA), SIGN - 1);                          \
    return (uchar)(as_uint(value) >> 31 ? code | SIGN : code);                                            \
  }

#ifdef USE_float4_e2m1fn
TINY_FLOAT(float4_e2m1fn, 1, 1, 8)
#define load_float4_e2m1fn(p, i) decode_float4_e2m1fn((p)[i])
#define store_float4_e2m1fn(p, i, v) ((p)[i] = encode_float4_e2m1fn(v))
#endif

#ifdef USE_float6_e2m3fn
TINY_FLOAT(float6_e2m3fn, 3, 1, 32)
#define load_float6_e2m3fn(p, i) decode_float6_e2m3fn((p)[i])
#define store_float6_e2m3fn(p, i, v) ((p)[i] = encode_float6_e2m3fn(v))
#endif

#ifdef USE_float6_e3m2fn
TINY_FLOAT(float6_e3m2fn, 2, 3, 32)
#define load_float6_e3m2fn(p, i) decode_float6_e3m2fn((p)[i])
#define store_float6_e3m2fn(p, i, v) ((p)[i] = encode_float6_e3m2fn(v))
#endif
