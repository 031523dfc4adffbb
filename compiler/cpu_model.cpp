#include "compiler/cpu_model.h"

#include "codegen/element_type.h"
#include "codegen/plan_initializers.h"
#include "codegen/plan_interface.h"
#include "runtime/text.h"
#include "runtime/updated_weight.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace smelt::compiler {

using runtime::Severity;

Status refuseStream(const void *stream) {
  if (stream == nullptr)
    return {};
  return Status(StatusCode::kUsage,
                "the engine runs on the CPU, where there are no streams: give NULL");
}

Result<std::shared_ptr<CpuModel>> CpuModel::create(std::unique_ptr<Model> model,
                                                   CpuArithmetic arithmetic,
                                                   ProgressHandler progress,
                                                   runtime::Logger logger) {
  std::shared_ptr<CpuModel> made(
      new CpuModel(std::move(model), arithmetic, std::move(progress), std::move(logger)));
  SMELT_RETURN_IF_ERROR(made->describe());
  made->log.log(Severity::kWarning, "'", made->described.model_name, "' runs on ", cpuName(),
                ", in the interpreter: slower by far than on any GPU");
  return made;
}

CpuModel::CpuModel(std::unique_ptr<Model> imported, CpuArithmetic arithmetic,
                   ProgressHandler progress, runtime::Logger logger)
    : model(std::move(imported)), arithmetic(arithmetic), runner(std::in_place, *model, arithmetic),
      progress(std::move(progress)), log(std::move(logger)) {}

Status CpuModel::describe() {
  auto main = model->module().lookupSymbol<func::FuncOp>("main");
  codegen::DimTable dims(described);
  codegen::describeInterface(main, described, dims);
  codegen::copyGuards(model->module(), described, dims);
  SMELT_RETURN_IF_ERROR(codegen::checkSymbols(main, described));
  described.model_name = llvm::sys::path::stem(model->path()).str();
  describeWeights();
  return {};
}

/// Why another value of the initializer would not be seen, or not by everything; "": it is. `isHeld`:
/// the module has it as a weight.
static std::string refusalOf(const ModelInitializer &initializer, bool isHeld, bool isNarrow,
                             bool isRefit) {
  if (isNarrow)
    return "on the CPU no weights are updated of a model in 16 bits; compile the changed model";
  if (llvm::StringRef refusal = codegen::structuralRefusal(initializer); !refusal.empty())
    return refusal.str();
  if (!isRefit && !initializer.twin.empty())
    return joinText("it has the same bytes as '", initializer.twin,
                    "', and the two are one weight of a plan; compile with refit");
  if (!isHeld)
    return "its values became constants when compiling, or nothing uses it";
  return "";
}

void CpuModel::describeWeights() {
  llvm::StringSet<> held;
  model->module().walk([&](WeightOp weight) { held.insert(weight.getName()); });
  bool isNarrow = arithmetic == CpuArithmetic::kStored;
  bool isRefit = model->module()->hasAttr(kRefit);
  for (const ModelInitializer &initializer : model->initializers()) {
    auto entry = std::make_unique<plan::InitializerT>();
    entry->name = initializer.name;
    entry->element_type = codegen::planElementType(initializer.type.getElementType());
    for (int64_t size : initializer.type.getStaticShape())
      entry->shape.push_back(static_cast<uint64_t>(size));
    entry->refusal = refusalOf(initializer, held.contains(initializer.name), isNarrow, isRefit);
    described.initializers.push_back(std::move(entry));
  }
}

Result<std::vector<HostTensor>> CpuModel::run(std::span<const TensorView> inputs) {
  std::scoped_lock turn(mutex);
  auto report = [&](size_t done, size_t total) {
    return !progress || progress({"run", done, total});
  };
  return runner->run(inputs, report);
}

Status CpuModel::updateWeight(const std::string &name, const runtime::Binding &values) {
  SMELT_RETURN_IF_ERROR(runtime::findUpdated(described, name, values).status());
  std::string bytes(static_cast<const char *>(values.data), values.bytes);
  std::scoped_lock turn(mutex);
  runner.reset(); // what it has computed of weights is out of date
  model->weights().own(name, std::move(bytes));
  runner.emplace(*model, arithmetic);
  log.log(Severity::kInfo, "updated the weight '", name, "'");
  return {};
}

} // namespace smelt::compiler
