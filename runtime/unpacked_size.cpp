#include "runtime/unpacked_size.h"

#include <cstdint>

namespace smelt::runtime {

namespace {

/// Counts bytes off an allowance; each overload returns whether it sufficed.
class Allowance {
public:
  explicit Allowance(uint64_t bytes) : left(bytes) {}

  bool takes(const plan::Metadata &table) {
    return takeAll(table.smelt_version(), table.model_name(), table.compile_options(),
                   table.symbols(), table.dims(), table.inputs(), table.outputs(), table.guards(),
                   table.weights(), table.programs(), table.remarks(), table.initializers(),
                   table.tuning());
  }

private:
  template <typename... Fields> bool takeAll(const Fields &...fields) {
    return (take(fields) && ...);
  }

  bool takeBytes(uint64_t bytes) {
    bool suffices = bytes <= left;
    left -= suffices ? bytes : 0;
    return suffices;
  }

  bool take(const flatbuffers::String *text) { return !text || takeBytes(text->size()); }

  template <typename T> bool take(const flatbuffers::Vector<T> *values) {
    return !values || takeElements<T>(values->Data(), values->size());
  }

  template <typename T> bool take(const flatbuffers::Vector<const T *> *structs) {
    return !structs || takeElements<T>(structs->Data(), structs->size());
  }

  /// FlatBuffers' verifier looks at where a vector's length lies, not at where its elements do.
  template <typename T> bool takeElements(const void *first, uint64_t count) {
    bool isAligned = reinterpret_cast<uintptr_t>(first) % alignof(T) == 0;
    return (count == 0 || isAligned) && takeBytes(count * sizeof(T));
  }

  template <typename T> bool take(const flatbuffers::Vector<flatbuffers::Offset<T>> *tables) {
    if (!tables)
      return true;
    if (!takeBytes(uint64_t(tables->size()) * sizeof(flatbuffers::uoffset_t)))
      return false;
    for (const T *table : *tables)
      if (!take(table))
        return false;
    return true;
  }

  bool take(const plan::DimExpression *table) { return take(table->program()); }
  bool take(const plan::Tensor *table) { return takeAll(table->name(), table->dims()); }
  bool take(const plan::Guard *table) { return take(table->message()); }
  bool take(const plan::Weight *table) { return take(table->name()); }
  bool take(const plan::WeightPart *table) { return take(table->loops()); }
  bool take(const plan::Initializer *table) {
    return takeAll(table->name(), table->shape(), table->parts(), table->refusal());
  }
  static bool take(const plan::Buffer *) { return true; }
  bool take(const plan::Module *table) { return takeAll(table->name(), table->patch()); }
  bool take(const plan::Kernel *table) { return take(table->entry()); }
  bool take(const plan::PixelWindows *table) {
    return takeAll(table->lower_corner(), table->upper_corner());
  }
  bool take(const plan::TensorMap *table) {
    return takeAll(table->sizes(), table->byte_strides(), table->box(), table->element_strides()) &&
           (!table->windows() || take(table->windows()));
  }
  bool takeNode(const plan::Launch &launch) {
    const plan::KernelNode *kernel = launch.node_as_KernelNode();
    return !kernel || takeAll(kernel->arguments(), kernel->tensor_maps(), kernel->constants());
  }
  bool take(const plan::Launch *table) { return takeNode(*table) && take(table->name()); }
  bool take(const plan::SizeRule *table) { return !table || take(table->unit()); }
  bool take(const plan::Variant *table) { return takeAll(table->rule(), table->launches()); }
  bool take(const plan::Step *table) {
    return takeAll(table->variants(), table->depends_on(), table->onnx_nodes());
  }
  bool take(const plan::Program *table) {
    return takeAll(table->arch(), table->modules(), table->kernels(), table->buffers(),
                   table->once(), table->steps());
  }
  bool take(const plan::Remark *table) {
    return takeAll(table->onnx_node(), table->fusion(), table->predicate(), table->message());
  }

  uint64_t left;
};

} // namespace

bool unpacksWithin(const plan::Metadata &metadata, uint64_t bytes) {
  return Allowance(bytes).takes(metadata);
}

} // namespace smelt::runtime
