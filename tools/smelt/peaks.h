// What a GPU can do at best: the roofline that kernels are held against.
#pragma once

#include "codegen/target.h"

#include <cstdint>
#include <optional>
#include <string>

namespace smelt::tools {

struct Peaks {
  double bytesPerSecond = 0;
  double multiprocessorClocks = 0; ///< a second, of all multiprocessors
  codegen::Target target;

  /// 0 where the rate is not known.
  double flopsPerSecond(plan::Arithmetic arithmetic) const {
    return multiprocessorClocks * target.rate(arithmetic);
  }
  /// The least time for so many bytes and operations; 0 where the rate of the arithmetic is not known.
  double leastMicroseconds(int64_t bytes, int64_t flops, plan::Arithmetic arithmetic) const;
  /// Whether that is the time of the bytes.
  bool isBoundByMemory(int64_t bytes, int64_t flops, plan::Arithmetic arithmetic) const;
};

/// Of the product that the architecture's cost models have in mind (Target::Part), by its data sheet; nothing
/// where no rates are stated.
std::optional<Peaks> peaksOfPart(const std::string &arch);

} // namespace smelt::tools
