// A model on its way through the compiler: imported, then fused. Where the stages of the compiler
// meet.
#pragma once

#include "compiler/diagnostics.h"
#include "compiler/precision.h"
#include "compiler/progress.h"
#include "compiler/signature.h"
#include "ir/refit.h"
#include "ir/weights.h"

#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace smelt::compiler {

/// Row-major and little-endian; a bool is one byte.
struct InputValue {
  ElementType type = ElementType::f32;
  std::vector<int64_t> shape;
  std::string bytes;
};

struct ModelOptions {
  /// An ONNX file, or a dump of Model::fuse, which the passes go on from: it says which model its
  /// weights come from.
  std::string path;
  /// To compile for; what they leave open stays dynamic.
  NamedShapes shapes;
  /// Of one run: they are compiled for only where an input declares no shape, and where the model does
  /// not import with open sizes, or only for some; there the shapes of values count too.
  NamedShapes runShapes;
  /// Limits that the plan checks.
  NamedShapes smallest, largest;
  /// Draw weights whose file is missing, by this seed.
  std::optional<uint64_t> randomWeights;
  /// Cast floats that meet others where one type is needed (ImportOptions::repairTypes).
  bool repairTypes = false;
  /// Keep the weights as they are in the model, as far as that goes, so that a plan can be given other
  /// values for them.
  bool refit = false;
  /// Every tensor that a node computes is an output too (ImportOptions::exposesAll).
  bool exposesAll = false;
  /// Values of inputs (ImportOptions::valueOf): asked for where the graph's structure depends on one.
  std::function<std::optional<InputValue>(const std::string &name, size_t number)> valueOf;
  /// The shapes of these values; asked for where the model does not take any size.
  std::function<std::optional<std::vector<int64_t>>(const std::string &name, size_t number)>
      shapeOf;
  /// Of the import and of everything that is done with the model afterwards.
  DiagnosticHandler onDiagnostic;
  ActivityHandler onActivity;
  /// Told how many bytes of weights the import has read, of how many; anew where it begins anew.
  std::function<void(uint64_t done, uint64_t total)> onRead;
};

struct FuseOptions {
  /// Inputs that grow in place, as "input=output": the two share a buffer of the caller's. A * in
  /// both stands for the same text.
  std::vector<std::string> inPlace;
  NarrowingOptions narrowing;
  /// Receives the IR after each phase (compiler/dumps.h); "" for no dumps.
  std::string dumpFolder;
  /// After each pass, not only after each phase.
  bool dumpsEveryPass = false;
  /// File that receives what makes a pass fail; "" for none.
  std::string reproducer;
  /// Told what writes that file, and says what became of it, when passes begin, and null when they have ended: who catches a crash
  /// may call it then, on another thread than the one that crashed.
  std::function<void(std::function<std::string()> write)> onPasses;
  ProgressHandler progress;
};

class Dumps;

/// An imported ONNX model with the context that it lives in.
class Model {
public:
  /// Fails with kUsage where the file cannot be read or the shapes are not the model's, and with
  /// kInvalidModel, naming every problem, where it is no model that Smelt supports.
  static Result<std::unique_ptr<Model>> import(const ModelOptions &options);

  /// The model after fuse(), of which a plan keeps the text `ir` (compiler/fused_ir.h): its weights, and what
  /// they come from, are those of `options`, whose shapes and limits do not count. Fails as import() does,
  /// with kInvalidModel where a weight is another one, and with kPlan where the text is none.
  static Result<std::unique_ptr<Model>> reopen(const ModelOptions &options, const std::string &ir);

  mlir::ModuleOp module() { return *imported; }
  WeightStore &weights() { return *weightStore; }
  const WeightStore &weights() const { return *weightStore; }
  /// What the model file holds, by name.
  const std::vector<ModelInitializer> &initializers() const { return stored; }
  /// Of the model as imported; also after fuse().
  const Signature &signature() const { return importedSignature; }
  const std::string &path() const { return modelPath; }
  /// The files that the model is read from: its own, and those of its weights.
  std::vector<std::string> filePaths() const;
  DiagnosticCollector &diagnostics() { return collector; }
  /// Tells who asked for it what begins.
  void announce(const std::string &activity) const {
    if (onActivity)
      onActivity(activity);
  }

  /// Runs the pass pipeline. Failing passes are a defect of Smelt: kInternal. Fails with kUsage
  /// where a pair of `inPlace` cannot share a buffer, as narrowWithin does, with kResources
  /// where a dump cannot be written, and where `progress` asks to stop.
  Status fuse(const FuseOptions &options);

private:
  explicit Model(const ModelOptions &options);
  /// Becomes the imported model.
  Status read(const ModelOptions &options);
  /// Becomes the module of a dump, with the weights of the model that it was made from.
  Status readDump(const ModelOptions &options);
  Status readOnnx(const ModelOptions &options);
  /// Becomes `dump`, called `what`, with the weights of the model in `original`.
  Status take(mlir::OwningOpRef<mlir::ModuleOp> dump, const char *what, ModelOptions original);
  /// The phases behind `after` up to `until`, or to the last.
  Status runPhases(const FuseOptions &options, Dumps &dumps, llvm::StringRef after,
                   llvm::StringRef until);
  friend Result<std::vector<Problem>> checkModel(const ModelOptions &options);

  std::string modelPath;
  std::unique_ptr<mlir::MLIRContext> context;
  DiagnosticCollector collector;
  ActivityHandler onActivity;
  mlir::OwningOpRef<mlir::ModuleOp> imported;
  std::unique_ptr<WeightStore> weightStore;
  std::vector<ModelInitializer> stored;
  Signature importedSignature;
};

/// The module as text that parses to the same, locations included.
std::string moduleText(mlir::ModuleOp module);

/// The inputs and outputs of @main, in order.
Signature signatureOf(mlir::ModuleOp module);

/// Problems of the model; empty where Smelt supports it: where it can be imported, fused, and every
/// fusion has a kernel.
Result<std::vector<Problem>> checkModel(const ModelOptions &options);

/// Fails with kUsage where `output` is one of `ownFiles`, under whatever name: they may be mapped
/// while it is written, and nobody means to lose them.
Status refuseToReplace(const std::vector<std::string> &ownFiles, const std::string &output);

/// ONNX's number for a type, onnx.TensorProto.DataType.
int32_t onnxDataType(ElementType type);

/// Whether `path` names a plan rather than an ONNX model: by its first bytes, else by its ending.
bool isPlan(const std::string &path);

} // namespace smelt::compiler
