// The way in: an ONNX file becomes a verified module of the `smelt` dialect.
#pragma once

#include "ir/dialect.h"
#include "ir/refit.h"
#include "ir/weights.h"

#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smelt {

/// A tensor as ONNX writes one.
struct TensorValue {
  int32_t dataType = 0; ///< of onnx.TensorProto.DataType
  std::vector<int64_t> shape;
  std::string bytes; ///< little-endian, row-major
};

struct ImportOptions {
  /// Shapes to compile for, by input name; -1 keeps a dimension as the model declares it.
  std::vector<std::pair<std::string, std::vector<int64_t>>> inputShapes;
  /// inputShapes stand in place of sizes that the model declares as other numbers, with a warning.
  bool replacesDeclared = false;
  /// Shapes for the inputs that declare none; they say nothing of other inputs.
  std::vector<std::pair<std::string, std::vector<int64_t>>> undeclaredShapes;
  /// For structure-only models: weights whose external file is missing are drawn at random, by
  /// `seed` and name; where there is one, vectors of equal floats get noise too.
  bool drawMissingWeights = false;
  uint64_t seed = 0;
  /// Where floats of several widths meet in a node that takes one type, as exports in half precision
  /// have it, the wider ones are cast, with a warning each; else the model is refused there.
  bool repairTypes = false;
  /// Float tensors of more than kMostLiterals elements are weights, whatever their values, and the
  /// module gets the attribute kRefit.
  bool refit = false;
  /// Values of inputs, by name and by number among the inputs that no initializer stands for. Asked
  /// for where the graph's structure depends on one, such as a list of axes: the input then becomes a
  /// constant. None: the model is refused there.
  std::function<std::optional<TensorValue>(const std::string &name, size_t number)> valueOf = {};
  /// Told how many bytes of the graph's initializers are read, of how many. An import that begins anew tells them anew.
  std::function<void(uint64_t done, uint64_t total)> onRead = {};
  /// Every tensor that a node of the graph computes is an output too, behind the model's own.
  bool exposesAll = false;
};

/// `symbol` of the file is `as` in the module, since `node` needs them to be equal.
struct EquatedSymbol {
  std::string symbol;
  std::string as;
  std::string node;
};

/// An input that is compiled for one value.
struct FixedInput {
  std::string name;
  size_t number; ///< among the inputs that no initializer stands for, itself counted
};

struct ImportedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<WeightStore> weights;
  /// Of the main graph, in the order of the file, but for those of types that Smelt does not have.
  std::vector<ModelInitializer> initializers;
  /// Inputs that a caller cannot give, since an initializer stands for them.
  std::vector<std::string> constantInputs;
  /// Symbols that are another's or a number, since a node equates them.
  std::vector<EquatedSymbol> equated;
  /// Inputs that became constants by ImportOptions::valueOf.
  std::vector<FixedInput> fixedInputs;
  /// Nodes that branch on sizes were imported for one outcome, which guards require.
  bool assumesSizes = false;
};

/// Imports the ONNX file at `path`: opsets 1 to 28, normalised to one set of ops; local functions
/// inlined; names, types and data checked; shapes symbolic and shape arithmetic resolved.
/// Initializers are constants, also those that the model lists as inputs (where a caller could
/// override them). Every problem is reported through the context's diagnostic handler, located at
/// the node that has it; all unsupported nodes at once.
mlir::FailureOr<ImportedModel> importModel(mlir::MLIRContext &context, llvm::StringRef path,
                                           const ImportOptions &options);

/// The same for a model in memory; external files are looked for in `directory`.
mlir::FailureOr<ImportedModel> importModel(mlir::MLIRContext &context, llvm::ArrayRef<char> bytes,
                                           llvm::StringRef directory, const ImportOptions &options);

} // namespace smelt
