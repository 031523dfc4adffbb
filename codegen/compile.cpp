#include "codegen/compile.h"

#include "codegen/cleared_results.h"
#include "codegen/cuda_text.h"
#include "codegen/equal_fusions.h"
#include "codegen/fusion_module.h"
#include "codegen/fusion_numbers.h"
#include "codegen/kernel_text.h"
#include "codegen/kernels/attention/attention.h"
#include "codegen/plan_initializers.h"
#include "codegen/plan_interface.h"
#include "codegen/program_builder.h"
#include "ir/alias.h"
#include "ir/decisions.h"
#include "runtime/version.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

#include <map>

using namespace mlir;

namespace smelt::codegen {

namespace {

/// The shapes with which memory that grows in place is laid out.
SmallVector<SmallVector<Dim>> guardCapacities(func::FuncOp function, plan::MetadataT &metadata,
                                              DimTable &dims) {
  SmallVector<SmallVector<Dim>> layouts;
  for (unsigned index = 0; index < function.getNumResults(); ++index) {
    auto symbol = function.getResultAttrOfType<StringAttr>(index, kCapacityName);
    if (!symbol)
      continue;
    Value result = function.getBody().front().getTerminator()->getOperand(index);
    layouts.push_back(llvm::to_vector(tensorType(result).getShape()));
    Dim capacity = Dim::symbol(function.getContext(), symbol.getValue());
    Dim &extent = layouts.back()[metadata.outputs[index]->capacity_axis];
    addGuard(metadata, dims, extent, plan::Relation::less_equal, capacity,
             "the memory of '" + metadata.outputs[index]->name + "' has too little capacity");
    extent = capacity;
  }
  return layouts;
}

void forEachValue(func::FuncOp function, llvm::function_ref<void(Value)> visit) {
  llvm::for_each(function.getArguments(), visit);
  function.walk([&](Operation *op) { llvm::for_each(op->getResults(), visit); });
}

/// All but those that kernels only read, and reach in 64 bits.
void forEachCounted(func::FuncOp function, llvm::function_ref<void(Value)> visit) {
  forEachValue(function, [&](Value value) {
    Operation *op = value.getDefiningOp();
    bool isWritten = op && op->getParentOp() == function;
    if (isWritten || !isReadAsKeys(value))
      visit(value);
  });
}

/// Kernels count elements in 32 bits, but for those of keys and values: static tensors beyond that are refused.
LogicalResult checkElementCount(Dim count, Location location) {
  std::optional<int64_t> known = count.asConstant();
  if (!known || *known <= DimPrinter::kMaxElements)
    return success();
  return emitError(location) << "a tensor of " << *known
                             << " elements is more than a kernel can address ("
                             << DimPrinter::kMaxElements << ")";
}

Status checkElementCounts(func::FuncOp function) {
  bool fits = true;
  forEachCounted(function, [&](Value value) {
    fits = fits && succeeded(checkElementCount(tensorType(value).getNumElements(), value.getLoc()));
  });
  return fits ? Status()
              : Status(StatusCode::kInvalidModel,
                       "a tensor is too large; see the messages before this one");
}

/// The plan refuses shapes that make a tensor too large when they are set, and fails where memory
/// that grows in place is laid out too large for every shape.
LogicalResult guardElementCounts(func::FuncOp function, plan::MetadataT &metadata, DimTable &dims) {
  llvm::SetVector<Attribute> counts;
  bool fits = true;
  auto limitCount = [&](Dim count, Location location) {
    if (count.asConstant())
      fits = fits && succeeded(checkElementCount(count, location));
    else
      counts.insert(count.getAttribute());
  };
  for (ArrayRef<Dim> layout : guardCapacities(function, metadata, dims)) {
    Dim count = Dim::constant(function.getContext(), 1);
    for (Dim extent : layout)
      count = count * extent;
    limitCount(count, function.getLoc());
  }
  forEachCounted(function, [&](Value value) {
    limitCount(tensorType(value).getNumElements(), value.getLoc());
  });
  for (Attribute attribute : counts) {
    Dim count(cast<DimAttr>(attribute));
    addGuard(metadata, dims, count, plan::Relation::less_equal,
             Dim::constant(count.getContext(), DimPrinter::kMaxElements),
             "a tensor of " + count.toString() + " elements is more than a kernel can address");
  }
  return success(fits);
}

void copyRemarks(ModuleOp module, plan::MetadataT &metadata) {
  for (RemarkAttr record : getRemarks(module)) {
    auto remark = std::make_unique<plan::RemarkT>();
    remark->onnx_node = record.getNode().str();
    remark->fusion = record.getFusion().str();
    remark->predicate = record.getPredicate().str();
    remark->message = record.getMessage().str();
    remark->taken = record.getDecision() == Decision::taken;
    metadata.remarks.push_back(std::move(remark));
  }
}

/// A template whose registers do not suffice still computes rightly, but slower than it should:
/// the user learns it.
void warnOfSpills(func::FuncOp function, ArrayRef<KernelText> kernels,
                  ArrayRef<CompiledKernel> compiled, StringRef architecture) {
  for (auto [kernel, result] : llvm::zip_equal(kernels, compiled))
    if (result.spillBytes > 0 && !kernel.maySpill)
      function.emitWarning() << kernel.description << " spills " << result.spillBytes
                             << " bytes of registers on " << architecture
                             << ", which slows it down; please report the model";
}

/// What one architecture adds to a plan.
struct CompiledProgram {
  std::vector<KernelText> kernels; // distinct, in the order of the program's modules
  std::vector<FusionOp> fusions;   // of which they are a part
  std::vector<CompiledKernel> compiled;
};

Result<Target> findTarget(const std::string &architecture) {
  FailureOr<Target> target = Target::named(architecture);
  if (succeeded(target))
    return *target;
  return Status(StatusCode::kUsage,
                "unknown architecture '" + architecture + "'; known are " + Target::names());
}

/// Each architecture once; all are known before the first is compiled.
Result<std::vector<Target>> findTargets(ArrayRef<std::string> architectures) {
  std::vector<Target> targets;
  llvm::StringSet<> seen;
  for (const std::string &architecture : architectures) {
    SMELT_ASSIGN_OR_RETURN(Target target, findTarget(architecture));
    if (seen.insert(architecture).second)
      targets.push_back(std::move(target));
  }
  return targets;
}

/// NVRTC, which is loaded once it is needed: where every kernel's code is given it never is.
class LazyNvrtc {
public:
  explicit LazyNvrtc(const CompileOptions &options) : options(options) {}

  Result<const Nvrtc *> get() {
    if (opened)
      return opened.get();
    if (options.begin)
      options.begin("loading NVRTC");
    auto nvrtc = Nvrtc::open(options.nvrtcPath);
    if (!nvrtc)
      return Status(StatusCode::kEnvironment, llvm::toString(nvrtc.takeError()));
    opened = std::move(*nvrtc);
    return opened.get();
  }

private:
  const CompileOptions &options;
  std::unique_ptr<Nvrtc> opened;
};

/// By NVRTC.
Result<std::vector<CompiledKernel>> compileMissing(ArrayRef<KernelText> kernels,
                                                   const Target &target, LazyNvrtc &lazyNvrtc,
                                                   const KernelCache &cache,
                                                   const CompileOptions &options) {
  SMELT_ASSIGN_OR_RETURN(const Nvrtc *nvrtc, lazyNvrtc.get());
  bool isStopped = false;
  auto progress = [&](size_t done, size_t total) {
    isStopped = options.progress && !options.progress(done, total);
    return !isStopped;
  };
  auto begin = [&](const KernelText &kernel) {
    if (options.begin)
      options.begin("compiling the kernel " + kernel.description + " for " + target.arch);
  };
  auto compiled =
      compileKernels(*nvrtc, cache, kernels, target.arch, options.threads, progress, begin);
  if (!compiled)
    return Status(isStopped ? StatusCode::kResources : StatusCode::kInternal,
                  llvm::toString(compiled.takeError()));
  return std::move(*compiled);
}

/// What the kernels became, by NVRTC but for those whose code is given.
Result<std::vector<CompiledKernel>> compileTexts(ArrayRef<KernelText> kernels, const Target &target,
                                                 LazyNvrtc &nvrtc, const KernelCache &cache,
                                                 const CompileOptions &options) {
  std::vector<KernelText> missing;
  for (const KernelText &kernel : kernels)
    if (!options.given.contains(kernel.entry))
      missing.push_back(kernel);
  std::vector<CompiledKernel> compiled;
  if (!missing.empty()) {
    SMELT_ASSIGN_OR_RETURN(compiled, compileMissing(missing, target, nvrtc, cache, options));
  }
  std::vector<CompiledKernel> all;
  auto next = compiled.begin();
  for (const KernelText &kernel : kernels) {
    auto given = options.given.find(kernel.entry);
    all.push_back(given == options.given.end() ? std::move(*next++)
                                               : CompiledKernel{given->second, 0});
  }
  return all;
}

Result<CompiledProgram> compileProgram(func::FuncOp function, const Target &target,
                                       LazyNvrtc &nvrtc, const KernelCache &cache,
                                       const CompileOptions &options, DimTable &dims,
                                       PlanWeights &weights, plan::MetadataT &metadata) {
  ProgramBuilder builder(function, target, dims, weights);
  if (failed(builder.select({options.tf32, options.tuning, options.tiling})))
    return Status(StatusCode::kInvalidModel,
                  "no kernel for some fusions; see the messages before this one");
  if (std::set<std::string> products = builder.tunedProducts(); !products.empty())
    metadata.tuning = options.tuning->only(products).text();
  std::vector<size_t> firstUse;
  metadata.programs.push_back(builder.build(firstUse));
  SmallVector<KernelText> texts = builder.texts();
  CompiledProgram program;
  SmallVector<FusionOp> fusions = builder.fusionsOfTexts();
  for (size_t index : firstUse) {
    program.kernels.push_back(texts[index]);
    program.fusions.push_back(fusions[index]);
  }
  SMELT_ASSIGN_OR_RETURN(program.compiled,
                         compileTexts(program.kernels, target, nvrtc, cache, options));
  warnOfSpills(function, program.kernels, program.compiled, target.arch);
  for (size_t i = 0; options.compiled && i < program.kernels.size(); ++i)
    options.compiled(target.arch, program.kernels[i].entry, program.compiled[i]);
  return program;
}

} // namespace

/// Adds what `variants` of fusion `number` launch, behind `before` other launches.
static void listVariants(ArrayRef<KernelVariant> variants, size_t number, size_t before,
                         llvm::StringMap<size_t> &known, std::vector<ListedKernel> &kernels) {
  for (const KernelVariant &variant : variants)
    for (auto [index, launch] : llvm::enumerate(variant.launches)) {
      const auto *kernel = std::get_if<GeneratedKernel>(&launch);
      if (!kernel)
        continue;
      auto [entry, isNew] = known.try_emplace(canonicalText(kernel->text.text), kernels.size());
      if (isNew)
        kernels.push_back({*kernel, {}, {}});
      ListedKernel &listed = kernels[entry->second];
      std::string name =
          plan::launchNumber(number, before + index, before + variant.launches.size());
      if (!llvm::is_contained(listed.numbers, name))
        listed.numbers.push_back(std::move(name));
      if (!kernel->why.empty() && !llvm::is_contained(listed.why, kernel->why))
        listed.why.push_back(kernel->why);
    }
}

Result<std::vector<ListedKernel>> generateKernels(ModuleOp fused, const std::string &architecture,
                                                  const Selection &selection) {
  SMELT_ASSIGN_OR_RETURN(Target target, findTarget(architecture));
  auto function = fused.lookupSymbol<func::FuncOp>("main");
  SMELT_RETURN_IF_ERROR(checkElementCounts(function));
  EqualFusions selected;
  std::vector<std::vector<KernelVariant>> variantsOf;
  std::vector<size_t> equalTo; // of each fusion, the place among those
  ClearedResults cleared(function);
  llvm::DenseSet<Operation *> once = fusionsThatRunOnce(function);
  for (FusionOp fusion : numberedFusions(function)) {
    std::optional<size_t> equal = selected.find(fusion);
    if (!equal) {
      FailureOr<std::vector<KernelVariant>> variants = selectKernels(fusion, target, selection);
      if (failed(variants))
        return Status(StatusCode::kInvalidModel,
                      "no kernel for some fusions; see the messages before this one");
      equal = variantsOf.size();
      selected.add(fusion, *equal);
      variantsOf.push_back(std::move(*variants));
    }
    cleared.add(fusion, variantsOf[*equal], once.contains(fusion));
    equalTo.push_back(*equal);
  }
  std::vector<ListedKernel> kernels;
  llvm::StringMap<size_t> known;
  for (auto [number, equal] : llvm::enumerate(equalTo)) {
    bool isFirst = number == 0 || number == once.size();
    size_t before = isFirst ? cleared.launches(number < once.size()) : 0;
    listVariants(variantsOf[equal], number, before, known, kernels);
  }
  return kernels;
}

/// compileToPlan up to the finished contents, which `write` takes while what they point to lives.
static Status compileAndWrite(ModuleOp fused, WeightStore &weights, const CompileOptions &options,
                              llvm::function_ref<Status(PlanContents &)> write) {
  auto function = fused.lookupSymbol<func::FuncOp>("main");
  if (!function)
    return Status(StatusCode::kInternal, "the module has no @main");
  SMELT_ASSIGN_OR_RETURN(std::vector<Target> targets, findTargets(options.architectures));
  SMELT_RETURN_IF_ERROR(checkElementCounts(function));
  LazyNvrtc nvrtc(options);
  if (options.given.empty()) // what is missing is said before time goes into the rest
    SMELT_RETURN_IF_ERROR(nvrtc.get().status());
  PlanContents contents;
  plan::MetadataT &metadata = contents.metadata;
  metadata.smelt_version = kVersion;
  metadata.model_name = options.modelName;
  metadata.compile_options = options.tf32 ? "tf32" : "";
  DimTable dims(metadata);
  describeInterface(function, metadata, dims);
  copyGuards(fused, metadata, dims);
  if (failed(guardElementCounts(function, metadata, dims)))
    return Status(StatusCode::kInvalidModel,
                  "a tensor is too large; see the messages before this one");
  copyRemarks(fused, metadata);
  PlanWeights planWeights(weights);
  KernelCache cache(options.cacheDirectory);
  std::vector<CompiledProgram> programs;
  for (const Target &target : targets) {
    SMELT_ASSIGN_OR_RETURN(
        CompiledProgram program,
        compileProgram(function, target, nvrtc, cache, options, dims, planWeights, metadata));
    programs.push_back(std::move(program));
  }
  cache.pruneWhenDue();
  SMELT_RETURN_IF_ERROR(checkSymbols(function, metadata));
  std::map<Operation *, std::string> fusionTexts;
  for (const CompiledProgram &program : programs)
    for (auto [kernel, fusion, compiled] :
         llvm::zip(program.kernels, program.fusions, program.compiled)) {
      contents.codes.push_back(std::as_bytes(std::span(compiled.code)));
      contents.sources.push_back(kernel.text);
      auto [text, isNew] = fusionTexts.try_emplace(fusion);
      if (isNew)
        text->second = fusionModuleText(fusion);
      contents.fusions.push_back(text->second);
    }
  contents.ir = options.ir;
  FailureOr<std::vector<WeightBytes>> bytes = planWeights.collect(metadata);
  if (failed(bytes))
    return Status(StatusCode::kInvalidModel,
                  "a weight is missing; see the messages before this one");
  contents.weights = std::move(*bytes);
  describeInitializers(options.initializers, planWeights.values(), fused->hasAttr(kRefit),
                       metadata);
  if (options.begin)
    options.begin("writing the plan");
  contents.progress = options.weightProgress;
  return write(contents);
}

Status compileToPlan(ModuleOp fused, WeightStore &weights, const CompileOptions &options,
                     const std::string &path) {
  return compileAndWrite(fused, weights, options,
                         [&](PlanContents &contents) { return writePlan(path, contents); });
}

Status compileToPlan(ModuleOp fused, WeightStore &weights, const CompileOptions &options,
                     ByteOutput &output) {
  return compileAndWrite(fused, weights, options,
                         [&](PlanContents &contents) { return writePlan(output, contents); });
}

} // namespace smelt::codegen
