// A tensor on the host, as the interpreter computes with it.
#pragma once

#include "ir/element_bytes.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cassert>
#include <memory>
#include <optional>
#include <vector>

namespace smelt {

/// The arithmetic of tensors declared f16, bf16 and f32; f64 tensors always compute in double.
enum class Precision { f32, f64 };

/// What the values are held as. Bools and all integers are int64; a value of 64 bits without sign is
/// the int64 of the same bits.
enum class Storage { f32, f64, i64 };

Storage storageFor(mlir::Type elementType, Precision precision);

/// Whether the interpreter has a meaning for elements of this type.
bool hasArithmetic(mlir::Type elementType);

/// Product of the sizes; none where it overflows or a size is negative.
std::optional<int64_t> elementCount(llvm::ArrayRef<int64_t> shape);

/// "[2, 77, 768]", for messages.
std::string toString(llvm::ArrayRef<int64_t> shape);

/// Row-major and contiguous. The values are shared between copies until one of them is written to,
/// so that copies and reshapes cost nothing. They are those of the arithmetic: a tensor declared
/// f16 holds floats that were not rounded to f16 (only `toBytes`, `toAttribute` and the
/// `smelt.cast` op round).
class HostTensor {
public:
  HostTensor() = default;

  /// Values are not initialised. None where the size overflows or there is no memory for it.
  static std::optional<HostTensor> allocate(llvm::ArrayRef<int64_t> shape, mlir::Type elementType,
                                            Storage storage);
  /// From values in row-major order; T is float, double or int64_t and becomes the storage.
  template <typename T>
  static HostTensor fromValues(llvm::ArrayRef<int64_t> shape, mlir::Type elementType,
                               llvm::ArrayRef<T> values);
  /// From little-endian bytes of the declared element type; none where their number does not fit
  /// the shape.
  static std::optional<HostTensor> fromBytes(llvm::ArrayRef<int64_t> shape, mlir::Type elementType,
                                             llvm::ArrayRef<char> bytes,
                                             Precision precision = Precision::f32);
  /// From a constant; none where its elements are neither integers nor floats.
  static std::optional<HostTensor> fromAttribute(mlir::ElementsAttr value,
                                                 Precision precision = Precision::f32);

  explicit operator bool() const { return static_cast<bool>(elementType); }
  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  int64_t getRank() const { return shape.size(); }
  int64_t getSize(int64_t axis) const { return shape[axis]; }
  int64_t getNumElements() const { return count; }
  mlir::Type getElementType() const { return elementType; }
  Storage getStorage() const { return storage; }

  /// T must be the type of the storage, or uint64_t for that of integers.
  template <typename T> llvm::ArrayRef<T> values() const {
    return {static_cast<const T *>(buffer.get()), static_cast<size_t>(count)};
  }
  /// Copies the values first where another tensor shares them.
  template <typename T> llvm::MutableArrayRef<T> mutableValues() {
    unshare();
    return {static_cast<T *>(buffer.get()), static_cast<size_t>(count)};
  }
  bool ownsValuesAlone() const { return buffer.use_count() == 1; }
  /// One element by its row-major position, whatever the storage.
  double getDouble(int64_t position) const;

  /// The same values under another shape of as many elements.
  HostTensor reshaped(llvm::ArrayRef<int64_t> shape) const &;
  HostTensor reshaped(llvm::ArrayRef<int64_t> shape) &&;
  /// The values converted to another storage; shared where it is the same one.
  HostTensor withStorage(Storage storage) const;
  /// The same values declared as another element type of the same storage.
  HostTensor declaredAs(mlir::Type elementType) &&;

  /// Little-endian bytes of the declared element type, rounded to nearest even.
  std::vector<char> toBytes() const;
  mlir::DenseElementsAttr toAttribute() const;

private:
  void unshare();

  llvm::SmallVector<int64_t, 4> shape;
  int64_t count = 0;
  mlir::Type elementType;
  Storage storage = Storage::f32;
  std::shared_ptr<void> buffer;
};

/// Rounds floats to the nearest numbers of a 16-bit type, as a cast there and back does. The declared
/// type stays.
void roundValues(HostTensor &tensor, mlir::Type to);

/// Calls `body` with a null pointer of the storage's type: `visitStorage(s, [&](auto *tag) { using
/// T = ...; })`.
template <typename Body> decltype(auto) visitStorage(Storage storage, Body &&body) {
  if (storage == Storage::f32)
    return body(static_cast<float *>(nullptr));
  if (storage == Storage::f64)
    return body(static_cast<double *>(nullptr));
  return body(static_cast<int64_t *>(nullptr));
}

/// The same by the type whose order and arithmetic the elements have: uint64_t where they are
/// integers of 64 bits without sign.
template <typename Body> decltype(auto) visitNumbers(const HostTensor &tensor, Body &&body) {
  if (tensor.getStorage() == Storage::i64 && tensor.getElementType().isUnsignedInteger(64))
    return body(static_cast<uint64_t *>(nullptr));
  return visitStorage(tensor.getStorage(), body);
}

template <typename T> constexpr Storage storageOf() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> ||
                std::is_same_v<T, int64_t>);
  if constexpr (std::is_same_v<T, float>)
    return Storage::f32;
  return std::is_same_v<T, double> ? Storage::f64 : Storage::i64;
}

template <typename T>
HostTensor HostTensor::fromValues(llvm::ArrayRef<int64_t> shape, mlir::Type elementType,
                                  llvm::ArrayRef<T> values) {
  HostTensor tensor = *allocate(shape, elementType, storageOf<T>());
  assert(tensor.count == static_cast<int64_t>(values.size()) && "values must fill the shape");
  std::copy(values.begin(), values.end(), tensor.mutableValues<T>().begin());
  return tensor;
}

} // namespace smelt
