// The flags that several commands compile by, and what the compiler makes of them.
#pragma once

#include "compiler/build_plan.h"
#include "tools/smelt/array.h"

namespace smelt::tools {

class ProgressLine;

using namespace compiler;

struct ModelFlags {
  std::string path;
  /// "name=1x128" flags to compile for; what they leave open stays dynamic.
  std::vector<std::string> shapes;
  /// "batch=8"; see nameShapes(), which makes shapes of them.
  std::vector<std::string> dimensions;
  /// "name=1x128" flags of one run: they are compiled for only where an input declares no shape.
  std::vector<std::string> runShapes;
  std::vector<std::string> minShapes;
  std::vector<std::string> maxShapes;
  /// "name=@file.npy", "@file.npz", or one "@folder" of ONNX test data: values of inputs, which are compiled for
  /// where the model's structure depends on them.
  std::vector<std::string> values;
  /// Draw weights whose file is missing.
  std::optional<uint64_t> randomWeights;
  /// Cast floats that meet others where one type is needed.
  bool repairTypes = false;
  /// Keep weights as they are, to be exchanged later.
  bool refit = false;
  /// Have every tensor of the graph as an output.
  bool exposesAll = false;
  /// Say nothing on stderr: it was said before.
  bool isSilent = false;
};

struct BuildFlags {
  std::vector<std::string> architectures;
  FloatPrecision precision = FloatPrecision::fp32;
  /// PlanOptions::tuning.
  const codegen::Tuning *tuning = nullptr;
  /// PlanOptions::compiled.
  std::function<void(const std::string &architecture, const std::string &entry,
                     const codegen::CompiledKernel &kernel)>
      compiled = nullptr;
  /// PlanOptions::given.
  std::map<std::string, std::string> given = {};
};

/// Parses "name=1x128" flags; "name=" is a scalar. An extent may be "?", which becomes kAnyExtent.
/// Fails with kUsage for anything else and for a name given twice.
Result<NamedShapes> parseShapes(const std::vector<std::string> &flags);

/// With warnings on stderr. Fails with kUsage where a shape is none.
Result<ModelOptions> modelOptions(const ModelFlags &flags);

/// Shows how much of the weights is read, on a line that lives as long as the options, which a model keeps.
std::shared_ptr<ProgressLine> showReading(ModelOptions &options);

/// The value that such flags give for the input called `name`, number `number` of the file; none where
/// they do not name it. Fails as the file's reading does.
Result<std::optional<Array>> readValue(const std::vector<std::string> &flags,
                                       const std::string &name, size_t number);

/// Gives the values that `flags` name to the import. Fails with kUsage where a flag is malformed;
/// `unread` receives why a file cannot be read. Both must outlive the import.
Status giveValues(ModelOptions &options, const std::vector<std::string> &flags, Status &unread);

/// Model::import of the flags.
Result<std::unique_ptr<Model>> importModel(const ModelFlags &flags);

/// Model::reopen of the flags, silently.
Result<std::unique_ptr<Model>> reopenModel(const ModelFlags &flags, const std::string &ir);

/// Model::fuse, with a reproducer in the working directory where a pass fails or crashes.
Status fuse(Model &model, FuseOptions options = {});

/// compiler::buildPlan with progress on stderr, and with the cache and NVRTC of the environment.
Status build(Model &model, const BuildFlags &flags, const std::string &path);

} // namespace smelt::tools
