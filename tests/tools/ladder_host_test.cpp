// The plainest steps of the ladder on the host, thread by thread: they are the reference of the others on a GPU.
#include "tools/ladder/attention_materialised.cu"
#include "tools/ladder/gemm_naive.cu"
#include "tools/ladder/numbers.h"
#include "tools/ladder/steps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace smelt::ladder {
namespace {

constexpr double kTolerance = 1e-3;

std::vector<half> randomMatrix(size_t count, unsigned seed) {
  std::vector<half> matrix;
  for (uint16_t bits : randomHalves(count, seed, 1))
    matrix.push_back({bits});
  return matrix;
}

std::vector<double> valuesOf(const std::vector<half> &matrix) {
  std::vector<double> values;
  for (half value : matrix)
    values.push_back(toFloat(value));
  return values;
}

/// Every thread of the blocks that cover `rows` x `columns` in each of `planes`, by the step's own launch.
template <class Thread>
void forEachThread(const StepKernel &kernel, int rows, int columns, int planes, Thread thread) {
  for (blockIdx.z = 0; blockIdx.z < planes; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y * kernel.rows < rows; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x * kernel.columns < columns; ++blockIdx.x)
        for (threadIdx.x = 0; threadIdx.x < int(kernel.threads); ++threadIdx.x)
          thread();
}

TEST(Ladder, NaiveProduct) {
  constexpr int kM = 19, kN = 45, kK = 33; // no multiples of anything
  std::vector<half> a = randomMatrix(kM * kK, 1), b = randomMatrix(kK * kN, 2),
                    c(kM * kN, {0x7e00});
  forEachThread(gemmSteps()[0].kernels[0], kM, kN, 1,
                [&] { ladderGemm(c.data(), a.data(), b.data(), kM, kN, kK); });
  std::vector<double> expected(kM * kN), ofA = valuesOf(a), ofB = valuesOf(b);
  for (int row = 0; row < kM; ++row)
    for (int column = 0; column < kN; ++column)
      for (int k = 0; k < kK; ++k)
        expected[row * kN + column] += ofA[row * kK + k] * ofB[k * kN + column];
  EXPECT_LT(normOfDifference(valuesOf(c), expected), kTolerance);
}

TEST(Ladder, ScoresAndValuesInMemory) {
  constexpr int kHeads = 2, kTokens = 40;
  constexpr float kScale = 0.25f;
  std::vector<half> q = randomMatrix(kHeads * kTokens * kHead, 1), k = randomMatrix(q.size(), 2),
                    scores(kHeads * kTokens * kTokens, {0x7e00}), o(q.size(), {0x7e00});
  const std::vector<StepKernel> &kernels = attentionSteps()[0].kernels;
  forEachThread(kernels[0], kTokens, kTokens, kHeads,
                [&] { ladderScores(scores.data(), q.data(), k.data(), kTokens, kScale); });
  forEachThread(kernels[2], kTokens, kHead, kHeads,
                [&] { ladderValues(o.data(), scores.data(), k.data(), kTokens); });
  std::vector<double> ofQ = valuesOf(q), ofK = valuesOf(k), expectedScores(scores.size()),
                      ofScores = valuesOf(scores), expected(o.size());
  for (int row = 0; row < kHeads * kTokens; ++row)
    for (int key = 0; key < kTokens; ++key)
      for (int d = 0; d < kHead; ++d) {
        int column = (row / kTokens * kTokens + key) * kHead + d;
        expectedScores[row * kTokens + key] += kScale * ofQ[row * kHead + d] * ofK[column];
        expected[row * kHead + d] += ofScores[row * kTokens + key] * ofK[column];
      }
  EXPECT_LT(normOfDifference(ofScores, expectedScores), kTolerance);
  EXPECT_LT(normOfDifference(valuesOf(o), expected), kTolerance);
}

TEST(Ladder, ComparesNaNAsWrong) {
  EXPECT_TRUE(std::isnan(normOfDifference({1, NAN}, {1, 1})));
  EXPECT_DOUBLE_EQ(0.5, normOfDifference({1, 0}, {2, 0}));
}

} // namespace
} // namespace smelt::ladder
