#include "runtime/retired_owners.h"

#include <iterator>

namespace smelt::runtime {

void RetiredOwners::add(const DriverApi &api, std::vector<Owner> owners) {
  fresh.insert(fresh.end(), std::move_iterator(owners.begin()), std::move_iterator(owners.end()));
  if (event == nullptr && api.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
    event = nullptr;
}

/// Runs of a context follow one another, so that the end of this one is that of all before it.
Status RetiredOwners::mark(const DriverApi &api, CUstream stream) {
  if (fresh.empty() || !marked.empty() || event == nullptr)
    return {};
  SMELT_RETURN_IF_CUDA_ERROR(api, "marking the end of the run", cuEventRecord, event, stream);
  marked.swap(fresh);
  return {};
}

void RetiredOwners::dropUnused(const DriverApi &api) {
  if (!marked.empty() && api.cuEventQuery(event) == CUDA_SUCCESS)
    marked.clear();
}

void RetiredOwners::dropAll() {
  fresh.clear();
  marked.clear();
}

void RetiredOwners::destroyEvent(const DriverApi &api) {
  if (event != nullptr)
    api.cuEventDestroy(event);
  event = nullptr;
}

} // namespace smelt::runtime
