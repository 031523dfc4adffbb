// A tensor as another library lends it by DLPack.
#pragma once

#include "runtime/dlpack.h"

#include <memory>

namespace smelt::test {

/// Counts the calls of its deleter. Must outlive whatever takes `managed` over.
struct LentTensor {
  LentTensor(void *data, std::vector<int64_t> shape, DLDevice device = {dlpack::kCuda, 0})
      : shape(std::move(shape)) {
    managed.version = dlpack::kVersion;
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensorVersioned *self) {
      ++static_cast<LentTensor *>(self->manager_ctx)->released;
    };
    managed.dl_tensor = {
        data, device, static_cast<int32_t>(this->shape.size()), {2, 32, 1}, nullptr, nullptr, 0};
    managed.dl_tensor.shape = this->shape.data();
  }
  LentTensor(const LentTensor &) = delete;

  void setStrides(std::vector<int64_t> values) {
    strides = std::move(values);
    managed.dl_tensor.strides = strides.data();
  }

  DLManagedTensorVersioned managed = {};
  std::vector<int64_t> shape, strides;
  int released = 0;
};

/// Calls the deleter of a tensor that was given out.
struct ReleaseTensor {
  void operator()(DLManagedTensorVersioned *tensor) const { tensor->deleter(tensor); }
};
using GivenTensor = std::unique_ptr<DLManagedTensorVersioned, ReleaseTensor>;

} // namespace smelt::test
