// Every instruction set level that this machine has computes the same, within rounding, and right.
#include "ir/interpret/simd.h"

#include "ir/interpret/half.h"
#include "ir/interpret/random.h"
#include "ir/interpret/thread_pool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace smelt::interpret {
namespace {

std::vector<const SimdKernels *> levels() {
  const SimdKernels *found[3];
  int count = simdLevels(found);
  return {found, found + count};
}

std::vector<float> draw(int64_t count, uint64_t seed, double deviation = 1) {
  Random random(seed);
  std::vector<float> values(count);
  for (float &value : values)
    value = static_cast<float>(random.normal() * deviation);
  return values;
}

TEST(Simd, TheWidestLevelIsChosen) { EXPECT_EQ(&simdKernels(), levels().back()); }

TEST(Simd, Gemm) {
  for (const SimdKernels *level : levels()) {
    for (auto [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                           {7, 33, 65},
                           {128, 96, 300},
                           {1, 64, 64},
                           {64, 1, 64},
                           {5, 5, 0}}) {
      for (bool transposed : {false, true}) {
        SCOPED_TRACE(level->name);
        int64_t aStride = k + 3, cStride = n + 1, bStride = (transposed ? k : n) + 2;
        std::vector<float> a = draw(m * aStride, 1),
                           b = draw((transposed ? n : k) * bStride + 1, 2), c(m * cStride, 77);
        level->gemmFloat(
            {m, n, k, a.data(), aStride, b.data(), bStride, transposed, c.data(), cStride});
        std::vector<double> wideA(a.begin(), a.end()), wideB(b.begin(), b.end()),
            wideC(m * cStride, 77);
        level->gemmDouble({m, n, k, wideA.data(), aStride, wideB.data(), bStride, transposed,
                           wideC.data(), cStride});
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            double sum = 0;
            for (int64_t l = 0; l < k; ++l)
              sum += wideA[i * aStride + l] * wideB[transposed ? j * bStride + l : l * bStride + j];
            ASSERT_NEAR(c[i * cStride + j], sum, 2e-5 * std::sqrt(k + 1.0));
            ASSERT_NEAR(wideC[i * cStride + j], sum, 1e-12);
          }
          EXPECT_EQ(c[i * cStride + n], 77); // nothing is written between the rows
        }
      }
    }
  }
}

TEST(Simd, Functions) {
  std::vector<float> input = draw(1003, 3, 4);
  for (const SimdKernels *level : levels()) {
    SCOPED_TRACE(level->name);
    auto check = [&](FloatFunction function, double (*expected)(double)) {
      std::vector<float> output = input;
      function(output.data(), output.data(), output.size());
      for (size_t i = 0; i < input.size(); ++i)
        ASSERT_NEAR(output[i], expected(input[i]),
                    4e-7 * std::max(1.0, std::abs(expected(input[i]))));
    };
    check(level->exp, [](double x) { return std::exp(x); });
    check(level->tanh, [](double x) { return std::tanh(x); });
    check(level->erf, [](double x) { return std::erf(x); });
    check(level->sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); });
    check(level->silu, [](double x) { return x / (1 + std::exp(-x)); });
    check(level->gelu, [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); });
  }
}

TEST(Simd, Rows) {
  for (const SimdKernels *level : levels()) {
    for (int64_t count : {1, 31, 32, 77, 768}) {
      SCOPED_TRACE(level->name);
      std::vector<float> input = draw(count, 4, 3), row = input;
      level->softmaxRow(row.data(), count);
      double largest = *std::max_element(input.begin(), input.end()), sum = 0, mean = 0,
             variance = 0;
      for (float x : input)
        sum += std::exp(x - largest), mean += x / static_cast<double>(count);
      for (float x : input)
        variance += (x - mean) * (x - mean) / static_cast<double>(count);
      for (int64_t i = 0; i < count; ++i)
        ASSERT_NEAR(row[i], std::exp(input[i] - largest) / sum, 2e-7);
      double gotMean, gotVariance;
      level->moments(input.data(), count, gotMean, gotVariance);
      EXPECT_NEAR(gotMean, mean, 1e-12);
      EXPECT_NEAR(gotVariance, variance, 1e-11);
      std::vector<float> scale = draw(count, 5), bias = draw(count, 6), output(count);
      for (int form = 0; form < 4; ++form) {
        level->normalizeRow(input.data(), form & 1 ? scale.data() : nullptr,
                            form & 2 ? bias.data() : nullptr, 0.5f, 2.0f, output.data(), count);
        for (int64_t i = 0; i < count; ++i)
          ASSERT_NEAR(output[i],
                      (input[i] - 0.5) * 2 * (form & 1 ? scale[i] : 1) + (form & 2 ? bias[i] : 0),
                      4e-6);
      }
    }
  }
}

TEST(Simd, Halves) {
  std::vector<uint16_t> halves(65536);
  std::iota(halves.begin(), halves.end(), 0);
  for (const SimdKernels *level : levels()) {
    std::vector<float> output(halves.size());
    level->halfToFloat(halves.data(), output.data(), halves.size());
    for (size_t i = 0; i < halves.size(); ++i)
      ASSERT_EQ(std::bit_cast<uint32_t>(output[i]), std::bit_cast<uint32_t>(halfToFloat(halves[i])))
          << level->name;
  }
}

/// Of every exponent: halves, their neighbours, the middles between an even and an odd one, and NaN.
TEST(Simd, RoundsToHalves) {
  std::vector<float> input;
  for (uint32_t high = 0; high <= 0xffffu; ++high)
    for (uint32_t low : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x2fffu, 0x3000u, 0x3001u, 0xffffu})
      input.push_back(std::bit_cast<float>(high << 16 | low));
  for (const SimdKernels *level : levels()) {
    std::vector<float> output = input;
    level->roundToHalf(output.data(), output.data(), output.size());
    for (size_t i = 0; i < input.size(); ++i)
      ASSERT_EQ(std::bit_cast<uint32_t>(output[i]),
                std::bit_cast<uint32_t>(halfToFloat(floatToHalf(input[i]))))
          << level->name << " " << input[i];
  }
}

TEST(ThreadPoolTest, EveryIterationRunsOnce) {
  for (unsigned threads : {1u, 2u, 5u}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (int64_t count : {0, 1, 7, 1000}) {
      for (int64_t grain : {1, 3, 5000}) {
        std::vector<std::atomic<int>> seen(count);
        pool.parallelFor(count, grain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            ++seen[i];
        });
        for (auto &times : seen)
          ASSERT_EQ(times, 1);
      }
    }
  }
}

} // namespace
} // namespace smelt::interpret
