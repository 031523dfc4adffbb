// Reads a plan: verifies every byte once, then hands out views.
#pragma once

#include "runtime/load_progress.h"
#include "runtime/mapped_file.h"
#include "runtime/plan_format.h"
#include "runtime/status.h"

#include <memory>
#include <string>
#include <string_view>

namespace smelt::runtime {

/// A verified plan. The views point into the file's mapping, or into the memory that the plan was
/// read from; the metadata is a copy of its own.
class Plan {
public:
  const plan::MetadataT &metadata() const { return *unpacked; }
  /// The metadata outlives the plan where it is held on to.
  std::shared_ptr<const plan::MetadataT> sharedMetadata() const { return unpacked; }

  /// A cubin, or PTX with its final NUL, as the module's program says.
  std::span<const std::byte> code(const plan::ModuleT &module) const;
  std::string_view source(const plan::ModuleT &module) const;
  /// The IR of the fusion that the module's kernel is part of; "" where the plan has none.
  std::string_view fusion(const plan::ModuleT &module) const;
  /// The fused module that the kernels were made of; "" where the plan has none.
  std::string_view ir() const;
  std::span<const std::byte> bytes(const plan::WeightT &weight) const;
  /// Bytes of the whole file.
  uint64_t fileBytes() const { return totalBytes; }

private:
  friend Result<Plan> readPlan(std::span<const std::byte>, const std::string &,
                               const LoadProgressHandler &);
  friend Result<Plan> readPlan(const std::string &, const LoadProgressHandler &);

  MappedFile file;
  uint64_t totalBytes = 0;
  std::shared_ptr<const plan::MetadataT> unpacked;
  std::span<const std::byte> codes;
  std::span<const std::byte> sources;
  std::span<const std::byte> weights;
};

/// Reads the plan at `path`. Fails with kUsage when the file cannot be read, and with kPlan when it
/// is no plan, is truncated or damaged, or is of another format version. `progress` hears of "read".
Result<Plan> readPlan(const std::string &path, const LoadProgressHandler &progress = {});

/// The same for a plan in memory, which must outlive the result. `name` stands in messages.
Result<Plan> readPlan(std::span<const std::byte> bytes, const std::string &name,
                      const LoadProgressHandler &progress = {});

} // namespace smelt::runtime
