// The steps of the ladder: one device file each, and how the host launches it.
#pragma once

#include <string>
#include <vector>

namespace smelt::ladder {

/// A kernel of a step: `rows` x `columns` is the part of its result that a block computes.
struct StepKernel {
  std::string entry;
  int rows, columns;
  unsigned threads;
  unsigned sharedBytes = 0;
};

/// What a step's last operands are: pointers, or tensor maps.
enum class Operands { kPointers, kMaps };

struct Step {
  std::string name, file;
  std::vector<StepKernel> kernels; ///< one after the other
  bool needsHopper = false;
  Operands operands = Operands::kPointers;
};

/// C [m][n] = A [m][k] B [k][n] in fp16; the first step is the plainest, and the reference of the others.
const std::vector<Step> &gemmSteps();

/// O = softmax(Q K^T / sqrt(128)) V in fp16, each [heads][tokens][128]; the same of the first step.
const std::vector<Step> &attentionSteps();

} // namespace smelt::ladder
