// Branch-free float functions that compilers vectorise. Included by each instruction set level into
// its own namespace: no function here may be shared between levels.
//
// The polynomials are minimax fits made for this file (iteratively reweighted least squares on
// Chebyshev nodes): exp on |x| <= ln(2)/2, erf(x)/x and tanh(x)/x in x^2, and exp(x^2) erfc(x) in
// 1/(x + 2).

#pragma once

#include <bit>
#include <cstdint>

namespace {

inline float selectFloat(bool condition, float a, float b) { return condition ? a : b; }

/// e^x for x clamped to the range where neither the result nor its two scale factors leave float.
inline float expFast(float x) {
  // Beyond these the result is infinite or zero; the comparisons are written so that NaN stays.
  float clamped = x < -104.0f ? -104.0f : x;
  clamped = clamped > 89.0f ? 89.0f : clamped;
  // Adding 1.5 * 2^23 rounds to an integer in the low bits.
  float shifted = clamped * 1.44269504088896341f + 12582912.0f;
  int32_t exponent = std::bit_cast<int32_t>(shifted) - 0x4b400000; // the bits of 1.5 * 2^23
  float n = shifted - 12582912.0f;
  float r = clamped - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  float p = 0.0013835792f;
  p = p * r + 0.00837564468f;
  p = p * r + 0.0416682884f;
  p = p * r + 0.166664109f;
  p = p * r + 0.499999911f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  // 2^n in two factors, each a normal float, so that subnormal results round once.
  int32_t half = exponent >> 1;
  float first = std::bit_cast<float>(static_cast<uint32_t>(half + 127) << 23);
  float second = std::bit_cast<float>(static_cast<uint32_t>(exponent - half + 127) << 23);
  return p * first * second;
}

/// erf(x) / x for |x| <= 1.
inline float erfSmall(float square) {
  float p = 7.8541183e-05f;
  p = p * square - 0.00080102775f;
  p = p * square + 0.00518833846f;
  p = p * square - 0.0268538184f;
  p = p * square + 0.112835854f;
  p = p * square - 0.37612626f;
  return p * square + 1.12837911f;
}

/// 1 - erf(x) for x >= 0.9, with small relative error however small it gets.
inline float erfcLarge(float x) {
  float t = 1.0f / (x + 2.0f);
  float p = 19.2101231f;
  p = p * t - 21.371563f;
  p = p * t + 0.0873134360f;
  p = p * t + 3.92092109f;
  p = p * t + 2.40820861f;
  p = p * t + 2.04003143f;
  p = p * t + 1.12263548f;
  p = p * t + 0.56445837f;
  p = p * t - 5.2293508e-06f;
  return p * expFast(-x * x);
}

constexpr float kErfBreak = 0.95f;

inline float erfFast(float x) {
  float magnitude = x < 0.0f ? -x : x;
  float small = x * erfSmall(x * x);
  float large = 1.0f - erfcLarge(magnitude > 6.0f ? 6.0f : magnitude);
  return selectFloat(magnitude < kErfBreak, small, x < 0.0f ? -large : large);
}

inline float tanhFast(float x) {
  float magnitude = x < 0.0f ? -x : x, square = x * x;
  float p = -0.00546852825f;
  p = p * square + 0.0204154961f;
  p = p * square - 0.0536654070f;
  p = p * square + 0.133304179f;
  p = p * square - 0.333332300f;
  float small = x + x * square * p;
  float large = 1.0f - 2.0f / (expFast(2.0f * magnitude) + 1.0f);
  return selectFloat(magnitude < 0.6f, small, x < 0.0f ? -large : large);
}

inline float sigmoidFast(float x) { return 1.0f / (1.0f + expFast(-x)); }

inline float siluFast(float x) { return x / (1.0f + expFast(-x)); }

/// x Phi(x) = x erfc(-x / sqrt 2) / 2, which keeps its relative accuracy in the negative tail.
inline float geluFast(float x) {
  float scaled = x * 0.707106781f, magnitude = scaled < 0.0f ? -scaled : scaled;
  float small = 1.0f + scaled * erfSmall(scaled * scaled);
  float tail = erfcLarge(magnitude > 10.2f ? 10.2f : magnitude);
  float large = x < 0.0f ? tail : 2.0f - tail;
  return 0.5f * x * selectFloat(magnitude < kErfBreak, small, large);
}

} // namespace
