// ONNX tensors become constants and weights of the IR.
#pragma once

#include "frontend/external_data.h"
#include "frontend/graph_builder.h"
#include "frontend/onnx.pb.h"
#include "ir/weights.h"

#include <functional>

namespace smelt::frontend {

/// Tensors of at most this many bytes become smelt.constant; so do larger ones whose elements are
/// all equal, and integers that count from 0 become smelt.iota.
constexpr uint64_t kMaxConstantBytes = 512;
/// Of a model to be refitted, only floats of at most so many elements do, such as a scale for each
/// axis of a resize.
constexpr int64_t kMostLiterals = 8;

class TensorReader {
public:
  /// Told how many bytes are read, of expectBytes().
  using ReadHandler = std::function<void(uint64_t done, uint64_t total)>;

  /// `directory`: the model's folder. `drawMissing`: a tensor whose external file is missing is no
  /// error. `refit`: ImportOptions::refit.
  TensorReader(std::string directory, WeightStore &weights, bool drawMissing, bool refit,
               ReadHandler onRead = nullptr)
      : files(std::move(directory)), weights(weights), drawMissing(drawMissing), refit(refit),
        onRead(std::move(onRead)) {}

  /// How many bytes will be read, as far as that is known: for `onRead` alone.
  void expectBytes(uint64_t bytes) { expectedBytes = bytes; }

  /// The value of `tensor`, named `name` in the IR: a constant, an iota or a weight. The bytes of a
  /// large tensor are mapped, or moved out of the message (so that it can be read once), into the
  /// WeightStore. Null, after a report that names the tensor, where its type is unsupported or its
  /// data does not fit its shape.
  mlir::Value read(GraphBuilder &build, llvm::StringRef name, onnx_wire::Tensor &tensor);

  WeightStore &getWeights() { return weights; }

  /// Whether the tensor's external file is not there.
  bool isMissing(const onnx_wire::Tensor &tensor) const;

  /// Makes a float vector of equal elements, a bias or scale that training never moved, one that has
  /// been: adds noise, by `seed` and name. For structure-only models, whose small tensors stand in
  /// the file as they were initialised; folding them away would time kernels that no trained model
  /// has.
  static void drawUniformVector(llvm::StringRef name, onnx_wire::Tensor &tensor, uint64_t seed);

private:
  void tellRead(TensorType type);
  mlir::Value readExternal(GraphBuilder &build, mlir::Location location, llvm::StringRef name,
                           const onnx_wire::Tensor &tensor, TensorType type);
  /// Of a tensor whose bytes no file has as they are read.
  mlir::Value readBytes(GraphBuilder &build, llvm::StringRef name, std::string bytes,
                        TensorType type);
  /// What needs no weight; null for the others.
  mlir::Value makeConstant(GraphBuilder &build, TensorType type, llvm::ArrayRef<char> bytes) const;
  mlir::Value makeWeight(GraphBuilder &build, llvm::StringRef name, const ExternalRange &source,
                         std::optional<llvm::ArrayRef<char>> bytes, TensorType type);

  ExternalFiles files;
  WeightStore &weights;
  bool drawMissing;
  bool refit;
  ReadHandler onRead;
  uint64_t readBytesSoFar = 0, expectedBytes = 0;
};

/// The elements of a tensor without raw data as row-major bytes, as raw data would have them. Floats
/// of 16 bits and fewer travel as bit patterns in int32_data.
std::string packTypedFields(const onnx_wire::Tensor &tensor);

/// Moves the data of a tensor of another file into the message; where the file is missing, the tensor stays
/// as it is. Fails, with a report, as reading it does.
mlir::LogicalResult embedExternal(mlir::Location location, ExternalFiles &files,
                                  onnx_wire::Tensor &tensor);

/// Raw data with one element a byte where several share one: its code in the low bits.
std::string unpackElements(int32_t dataType, llvm::ArrayRef<char> raw, uint64_t count);

/// The IR type of an ONNX tensor; reports and fails for unsupported element types, negative or
/// overflowing sizes.
mlir::FailureOr<TensorType> tensorTypeOf(mlir::Location location, const onnx_wire::Tensor &tensor);

} // namespace smelt::frontend
