// Tensors of other libraries as memory of a context, and memory of an engine as a tensor for others, wherever the engine
// runs.
#pragma once

#include "runtime/binding.h"
#include "runtime/dlpack.h"
#include "runtime/shape_program.h"

#include <memory>
#include <string>

namespace smelt::dlpack {

using SharedTensor = std::shared_ptr<DLManagedTensorVersioned>;

/// Its deleter is called with the last of its owners. Null stays null.
SharedTensor takeOver(DLManagedTensorVersioned *tensor);

struct BoundTensor {
  runtime::Binding binding; ///< which keeps the tensor
  runtime::Shape shape;
};

/// The tensor as memory of an input or output of that name, for an engine on `device` (kCpu, or kCuda). Fails with
/// kUsage for one that is not fit for it, and names it.
Result<BoundTensor> read(const plan::MetadataT &metadata, DLDevice device, bool isInput,
                         const char *name, SharedTensor tensor);

/// Memory of an engine for an output.
struct Room {
  std::shared_ptr<const void> owner;
  void *data = nullptr;
};

/// Bytes of the output of this name and shape.
Result<uint64_t> outputBytes(const plan::MetadataT &metadata, const std::string &name,
                             const runtime::Shape &shape);

/// The memory as a tensor for others, whose deleter lets go of it, and as the output's binding.
DLManagedTensorVersioned *giveOut(const plan::MetadataT &metadata, DLDevice device,
                                  const std::string &name, const runtime::Shape &shape,
                                  const Room &room);
runtime::Binding bindingOf(const plan::MetadataT &metadata, const std::string &name,
                           const runtime::Shape &shape, const Room &room);

} // namespace smelt::dlpack
