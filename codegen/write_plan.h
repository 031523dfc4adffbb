// Writes a plan file (runtime/plan_format.h) from metadata, code, CUDA text and weights.
#pragma once

#include "codegen/byte_output.h"
#include "runtime/plan_format.h"
#include "runtime/status.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smelt::codegen {

/// Takes the next piece of a weight.
using ByteSink = std::function<Status(std::span<const std::byte>)>;

/// The bytes of one weight, produced piece by piece while the plan is written, so that neither a
/// large weight nor its transposed or concatenated form needs to lie in memory.
struct WeightBytes {
  uint64_t size = 0;
  std::function<Status(const ByteSink &)> produce; ///< hands over exactly `size` bytes, in order

  /// Bytes that already lie in memory, and do so until the plan is written.
  static WeightBytes of(std::span<const std::byte> bytes);
};

struct PlanContents {
  /// Complete but for the ranges of modules, weights and IR, which writePlan fills in.
  plan::MetadataT metadata;
  /// One for each module, in the order of programs and of modules in a program: a cubin, or PTX
  /// and a final NUL. Equal ones may share one span: each distinct (data, size) is stored once.
  std::vector<std::span<const std::byte>> codes;
  std::vector<std::string_view> sources;
  /// The IR of each module's fusion, in the same order, or "". Equal ones may share one view: each
  /// distinct (data, size) is stored once.
  std::vector<std::string_view> fusions;
  std::string_view ir = {}; ///< of the fused module, or ""
  /// One for each of metadata.weights, in order.
  std::vector<WeightBytes> weights;
  /// Called with the bytes of weights that are written, of all; false stops the writing.
  std::function<bool(uint64_t done, uint64_t total)> progress = nullptr;
};

/// Writes the plan beside `path` under a temporary name, flushes it to the disk and renames it, so
/// that `path` holds its old contents or the whole plan, and nothing else is left behind on
/// failure. The same contents give the same bytes.
///
/// Fails with kResources when the file cannot be written or `progress` stops it, with the status of a weight's producer,
/// and with kInternal when the metadata is not consistent.
Status writePlan(const std::string &path, PlanContents &contents);

/// Writes the same bytes to `output`, which holds none.
Status writePlan(ByteOutput &output, PlanContents &contents);

} // namespace smelt::codegen
