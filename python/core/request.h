// One run as callers ask for it: session.run(output_names, feeds, outputs=...).
#pragma once

#include "python/core/tensor_reader.h"

#include <vector>

namespace smelt::python {

/// In the model's order, not in that of the caller's names.
struct Request {
  std::vector<TensorView> inputs;
  std::vector<std::optional<TensorView>> targets; ///< the caller's memory for outputs
  std::vector<nanobind::object> outputs;          ///< to return: the caller's, or to be made
  std::vector<std::size_t> wanted;                ///< the outputs to return, in their order

  bool hasInputIn(smelt_location location) const;
  /// Whether any of the caller's tensors lies in host memory.
  bool usesHost() const;
  /// All of the caller's; nothing is left of them.
  std::vector<TensorView> takeTensors();
  /// The outputs that are wanted.
  nanobind::list results() const;
};

/// The names of a model's inputs and outputs, looked up in what callers give.
class Signature {
public:
  Signature(std::vector<TensorInfo> inputs, std::vector<TensorInfo> outputs);

  const std::vector<TensorInfo> &inputs() const { return inputInfos; }
  const std::vector<TensorInfo> &outputs() const { return outputInfos; }

  /// `names` None: all outputs. `targets` may be None. UsageError for unknown and missing names,
  /// TypeError for what is no mapping, no list of names or no tensor.
  Request read(const TensorReader &reader, nanobind::handle names, nanobind::handle feeds,
               nanobind::handle targets, std::uintptr_t stream) const;
  std::vector<TensorView> readFeeds(const TensorReader &reader, nanobind::handle feeds,
                                    std::uintptr_t stream) const;

private:
  void readNames(nanobind::handle names, Request &request) const;
  void readTargets(const TensorReader &reader, nanobind::handle given, std::uintptr_t stream,
                   Request &request) const;

  std::vector<TensorInfo> inputInfos, outputInfos;
  nanobind::dict inputPlaces, outputPlaces; ///< by name
};

} // namespace smelt::python
