#include "tools/smelt/calibration.h"

#include "runtime/text.h"
#include "tools/smelt/inputs.h"
#include "tools/smelt/interpreter_array.h"
#include "tools/smelt/report.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <algorithm>

namespace smelt::tools {

static constexpr uint64_t kDrawnSets = 2;

static Status misuse(const std::string &message) { return Status(StatusCode::kUsage, message); }

/// The --input flags that a folder stands for; none where it holds no inputs itself.
static std::vector<std::string> inputFlags(const Signature &signature, const std::string &folder) {
  if (llvm::sys::fs::exists(folder + "/input_0.pb"))
    return {"@" + folder};
  std::vector<std::string> flags;
  for (const Port &port : signature.inputs)
    if (std::string path = folder + "/" + port.name + ".npy"; llvm::sys::fs::exists(path))
      flags.push_back(port.name + "=@" + path);
  return flags;
}

/// The folders in `folder`, by name.
static std::vector<std::string> foldersIn(const std::string &folder) {
  std::vector<std::string> folders;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator entry(folder, error), end; entry != end && !error;
       entry.increment(error))
    if (llvm::sys::fs::is_directory(entry->path()))
      folders.push_back(entry->path());
  std::sort(folders.begin(), folders.end());
  return folders;
}

static Result<std::vector<InputFlags>> setsOf(const Signature &signature,
                                              const std::string &folder) {
  if (!llvm::sys::fs::is_directory(folder))
    return misuse("--calibrate " + folder + ": is no folder");
  std::vector<InputFlags> sets;
  if (auto flags = inputFlags(signature, folder); !flags.empty())
    sets.push_back({{}, flags, 0});
  for (const std::string &inner : foldersIn(folder))
    if (auto flags = inputFlags(signature, inner); !flags.empty())
      sets.push_back({{}, flags, 0});
  if (sets.empty())
    return misuse("--calibrate " + folder +
                  ": holds no inputs, neither input_0.pb nor NAME.npy for an input of the model");
  return sets;
}

static std::vector<InputFlags> drawnSets(const ModelFlags &flags) {
  std::vector<std::string> shapes;
  std::copy_if(flags.shapes.begin(), flags.shapes.end(), std::back_inserter(shapes),
               [](const std::string &shape) { return shape.find('?') == std::string::npos; });
  std::vector<InputFlags> sets;
  for (uint64_t seed = 0; seed < kDrawnSets; ++seed)
    sets.push_back({shapes, {}, seed});
  return sets;
}

static Result<std::vector<HostTensor>> tensorsOf(Model &model, const InputFlags &flags) {
  SMELT_ASSIGN_OR_RETURN(RunInputs run, makeInputs(model.signature(), flags));
  auto main = model.module().lookupSymbol<mlir::func::FuncOp>("main");
  std::vector<HostTensor> tensors;
  for (auto [array, type] : llvm::zip(run.inputs, main.getArgumentTypes())) {
    SMELT_ASSIGN_OR_RETURN(HostTensor tensor, toInterpreter(array, type, Precision::f32));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Result<NarrowingOptions> narrowingOptions(Model &model, FloatPrecision precision,
                                          std::optional<double> within,
                                          const std::vector<std::string> &folders,
                                          const ModelFlags &flags) {
  NarrowingOptions options;
  options.to = precision;
  options.within = within;
  if (within && !narrows(precision))
    return misuse("--within is about --precision fp16 or bf16; give one of them");
  if (!within && !folders.empty())
    return misuse("--calibrate is about --within, the error that is measured on it; give one");
  if (!within)
    return options;
  std::vector<InputFlags> sets = folders.empty() ? drawnSets(flags) : std::vector<InputFlags>();
  for (const std::string &folder : folders) {
    SMELT_ASSIGN_OR_RETURN(std::vector<InputFlags> found, setsOf(model.signature(), folder));
    sets.insert(sets.end(), found.begin(), found.end());
  }
  for (const InputFlags &set : sets) {
    SMELT_ASSIGN_OR_RETURN(std::vector<HostTensor> tensors, tensorsOf(model, set));
    options.calibration.push_back(std::move(tensors));
  }
  return options;
}

std::string reportText(const NarrowingReport &report) {
  std::string text = joinText(report.narrow, " of ", report.narrow + report.wide.size(),
                              " ops in 16 bits, outputs within ", scientificText(report.error));
  if (!report.wide.empty())
    text += "; in float32 stay:";
  for (const NarrowingReport::Wide &wide : report.wide)
    text += joinText("\n  ", wide.op, " of ", wide.nodes, ", which would be off by ",
                     scientificText(wide.error));
  return text;
}

} // namespace smelt::tools
