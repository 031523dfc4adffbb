// A model on its way through the compiler: imported, then fused. Where the stages of the compiler
// meet.
#pragma once

#include "ir/weights.h"
#include "tools/smelt/diagnostics.h"
#include "tools/smelt/signature.h"

#include "mlir/IR/OwningOpRef.h"

#include <memory>
#include <optional>
#include <string>

namespace smelt::tools {

struct ModelFlags {
  std::string path;
  /// "name=1x128" flags to compile for; what they leave open stays dynamic.
  std::vector<std::string> shapes;
  /// "name=1x128" flags of one run: they are compiled for only where an input declares no shape.
  std::vector<std::string> runShapes;
  std::vector<std::string> minShapes;
  std::vector<std::string> maxShapes;
  /// Draw weights whose file is missing.
  std::optional<uint64_t> randomWeights;
};

/// An imported ONNX model with the context that it lives in.
class Model {
public:
  /// Fails with kUsage where the file cannot be read and with kInvalidModel, naming every problem,
  /// where it is no model that Smelt supports.
  static Result<std::unique_ptr<Model>> import(const ModelFlags &flags);

  mlir::ModuleOp module() { return *imported; }
  WeightStore &weights() { return *weightStore; }
  const WeightStore &weights() const { return *weightStore; }
  /// Of the model as imported; also after fuse().
  const Signature &signature() const { return importedSignature; }
  const std::string &path() const { return modelPath; }
  /// The files that the model is read from: its own, and those of its weights.
  std::vector<std::string> filePaths() const;
  DiagnosticCollector &diagnostics() { return collector; }

  /// Runs the pass pipeline. `dumpFolder` (or "") receives the IR after each phase. Failing passes
  /// are a defect of Smelt: kInternal, with a reproducer written beside the working directory.
  Status fuse(const std::string &dumpFolder);

private:
  explicit Model(std::string path);

  std::string modelPath;
  std::unique_ptr<mlir::MLIRContext> context;
  DiagnosticCollector collector;
  mlir::OwningOpRef<mlir::ModuleOp> imported;
  std::unique_ptr<WeightStore> weightStore;
  Signature importedSignature;
};

/// The module as text, with large constants left out and locations written.
std::string moduleText(mlir::ModuleOp module);

/// The inputs and outputs of @main, in order.
Signature signatureOf(mlir::ModuleOp module);

/// Problems of the model at `path`; empty where Smelt supports it.
Result<std::vector<Problem>> checkModel(const ModelFlags &flags);

/// Fails with kUsage where `output` is one of `ownFiles`, under whatever name: they may be mapped
/// while it is written, and nobody means to lose them.
Status refuseToReplace(const std::vector<std::string> &ownFiles, const std::string &output);

/// Whether `path` names a plan rather than an ONNX model: by its first bytes, else by its ending.
bool isPlan(const std::string &path);

} // namespace smelt::tools
