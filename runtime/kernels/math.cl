// Functions that elementwise expressions call; C is the type they are computed in.  Each section is
// included where its USE_ macro is defined; C__IS_FLOAT and C__IS_INTEGER say what C is.

#if defined(USE_power) && defined(C__IS_INTEGER)
// Integer power by squaring; a negative exponent gives 0 but for bases 1 and -1, as C's division would.
inline C integer_power(C base, long exponent) {
  if (exponent < 0) return base == (C)1 ? (C)1 : base == (C)-1 ? ((exponent & 1) ? (C)-1 : (C)1) : (C)0;
  C result = 1;
  for (; exponent; exponent >>= 1) {
    if (exponent & 1) result *= base;
    base *= base;
  }
  return result;
}
#endif

#if defined(USE_modulo) && defined(C__IS_FLOAT)
// Remainder with the divisor's sign.
inline C float_modulo(C a, C b) {
  const C r = fmod(a, b);
  return (r != 0 && ((r < 0) != (b < 0))) ? r + b : r;
}
#endif

#if defined(USE_modulo) && defined(C__IS_INTEGER)
inline C integer_modulo(C a, C b) {
  if (b == 0) return 0;
  const C r = b == (C)-1 ? (C)0 : a % b;
  return (r != 0 && ((r < 0) != (b < 0))) ? r + b : r;
}
inline C integer_remainder(C a, C b) { return b == 0 || b == (C)-1 ? (C)0 : a % b; }
#endif

#if defined(USE_division) && defined(C__IS_INTEGER)
inline C integer_division(C a, C b) { return b == 0 ? (C)0 : b == (C)-1 ? (C)(0 - a) : a / b; }
#endif

#if defined(USE_extremes) && defined(C__IS_FLOAT)
// Maximum and minimum that give NaN where either is NaN.
inline C maximum(C a, C b) { return isnan(a) ? a : isnan(b) ? b : (a > b ? a : b); }
inline C minimum(C a, C b) { return isnan(a) ? a : isnan(b) ? b : (a < b ? a : b); }
#endif
