// The caller's memory for a model's inputs and outputs: what is bound, how it is laid out, whether
// it is fit for a run, and the copies around it.
#pragma once

#include "runtime/engine.h"
#include "runtime/tensor_layout.h"

#include <optional>

namespace smelt::runtime {

enum class Location { kDevice, kHost };

/// Memory of the caller that holds a model's input or takes an output, row-major. Device memory must
/// be aligned to kBindingAlignment.
struct Binding {
  plan::ElementType elementType = plan::ElementType::f32;
  Location location = Location::kDevice;
  void *data = nullptr;
  uint64_t bytes = 0; ///< at least those of the tensor
  /// Of an output that takes over an input's memory, and of that input: the extent that the memory
  /// is laid out with along the axis that grows; 0: that of the tensor.
  int64_t capacity = 0;
  std::optional<Shape> shape = {}; ///< of an output: the one that it must have, where that is known
  /// What keeps the memory, where that was handed over; null: the caller keeps it.
  std::shared_ptr<const void> owner = {};
};

inline constexpr uint64_t kBindingAlignment = 16;

/// One input or output.
struct Slot {
  const plan::TensorT *tensor = nullptr;
  Shape shape; ///< inputs only
  bool hasShape = false;
  bool isUsed = false; ///< some kernel reads or writes it, or its partner
  bool isBound = false;
  Binding binding;
  std::optional<uint64_t> staging; ///< where in the workspace host memory is copied to or from
  Slot *partner = nullptr;         ///< of an output: the input that it takes over; and back
  bool sharesOutput = false;       ///< an input that an output takes over
  bool grows = false;              ///< rows lie apart by a capacity
  size_t growingAxis = 0;
  TensorLayout layout; ///< of the caller's memory, once laid out
};

/// Device memory [begin, end).
struct MemoryRange {
  uint64_t begin = 0, end = 0;
};

class Bindings {
public:
  explicit Bindings(const Engine &engine);
  Bindings(const Bindings &) = delete;

  std::vector<Slot> &allInputs() { return inputs; }
  const std::vector<Slot> &allInputs() const { return inputs; }
  const std::vector<Slot> &allOutputs() const { return outputs; }
  Result<Slot *> output(const std::string &name);

  /// Whether the input had another shape before.
  Result<bool> setShape(const std::string &name, const Shape &shape);

  /// What binding memory asks of a context that was prepared.
  enum class Change {
    kMemory,  ///< only addresses moved
    kStaging, ///< host memory has no copy on the device yet
    kCapacity ///< sizes changed
  };
  Result<Change> bind(bool isInput, const std::string &name, const Binding &binding);

  /// What keeps memory that is bound.
  std::vector<std::shared_ptr<const void>> owners() const;
  /// What kept memory that was bound until something else was; hands it over.
  std::vector<std::shared_ptr<const void>> takeFormerOwners() {
    return std::exchange(formerOwners, {});
  }

  /// Lays out the caller's memory for these sizes.
  Status layOut(const ShapeValues &values);

  /// Places copies of tensors that are bound to host memory from `start` on in the workspace, and
  /// returns where they end; `commit` also remembers where they lie.
  Result<uint64_t> placeCopies(uint64_t start, bool commit);

  /// Where kernels find a tensor: an input that an output takes over lies where the output lies. 0:
  /// nowhere yet.
  uint64_t addressOf(const Slot &slot, uint64_t workspace) const;

  /// Whether everything is bound, large enough, laid out as kernels see it, and apart. `workspace`
  /// is the caller's, or empty.
  Status check(const ShapeValues &values, MemoryRange workspace) const;

  /// Whether nothing that is bound is written where something else lies.
  Status checkOverlaps(MemoryRange workspace) const;

  /// From the caller's memory to where kernels find inputs, unless they lie there already.
  Status copyInputs(uint64_t workspace, CUstream stream) const;
  Status copyOutputs(uint64_t workspace, CUstream stream) const;

private:
  void pairAliases();
  void presetStaticShapes();
  static Status checkShape(const Slot &output, const ShapeValues &values);
  static Status checkRoom(const char *role, const Slot &slot, const ShapeValues &values);
  Status checkCapacities(const ShapeValues &values) const;
  static Status checkInPlace(const Slot &output);

  const Engine &engine;
  std::vector<Slot> inputs, outputs; // their addresses are kept by partners
  std::vector<std::shared_ptr<const void>> formerOwners;
};

} // namespace smelt::runtime
