#include "tools/smelt/check_kernel.h"

#include "codegen/compile.h"
#include "codegen/tuning.h"
#include "compiler/diagnostics.h"
#include "ir/interpret/interpret.h"
#include "ir/parse_text.h"
#include "runtime/shape_program.h"
#include "runtime/text.h"
#include "tools/smelt/compare_fusions.h"
#include "tools/smelt/cuda_session.h"
#include "tools/smelt/environment.h"
#include "tools/smelt/inputs.h"
#include "tools/smelt/interpreter_array.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace smelt::tools {

/// What the sizes of a fusion are tried as: most of them are no multiple of a tile.
constexpr int64_t kSizes[] = {1,   3,   5,   9,   17,  33,   40,   70,   100,  131,
                              200, 260, 390, 520, 780, 1030, 1560, 2100, 3100, 4100};
constexpr size_t kMostSizes = 3; ///< that vary each by itself; more take the same value
constexpr uint64_t kSeeds = 2;   ///< of inputs, before none is fit

bool KernelVerdict::agrees() const {
  return std::all_of(outputs.begin(), outputs.end(),
                     [](const OutputVerdict &output) { return output.agrees(); });
}

bool KernelVerdict::agreedBefore() const {
  return std::all_of(outputs.begin(), outputs.end(), [](const OutputVerdict &output) {
    return output.before.relativeNorm <= output.tolerance;
  });
}

namespace {

/// The fusion of a kernel, to be compiled, run and interpreted by itself.
class LoneFusion {
public:
  LoneFusion(const runtime::Plan &plan, const plan::ProgramT &program, const KernelPatch &patch)
      : plan(plan), program(program), patch(patch), context(MLIRContext::Threading::DISABLED),
        collector(context, patch.entry, nullptr) {
    context.loadDialect<SmeltDialect, func::FuncDialect>();
    weights.drawMissing(0);
  }

  Status read() {
    std::string_view text = plan.fusion(*moduleOf(program, patch.entry));
    if (text.empty())
      return Status(StatusCode::kUsage,
                    joinText("the plan does not say what ", patch.entry,
                             " computes: it was written by an older Smelt, or the kernel updates "
                             "its input in place"));
    module = parseText(text, &context);
    return module ? Status() : failure("the fusion cannot be read");
  }

  /// A plan of the fusion alone: with the patch or as it was.
  Status build(bool isPatched, std::vector<std::byte> &bytes) {
    codegen::CompileOptions options;
    options.architectures = {program.arch};
    options.nvrtcPath = nvrtcPath();
    options.cacheDirectory = cacheDirectory();
    options.tf32 = plan.metadata().compile_options == "tf32";
    SMELT_ASSIGN_OR_RETURN(auto tuning, codegen::Tuning::parseIfAny(plan.metadata().tuning));
    options.tuning = tuning.get();
    for (const auto &kernel : program.kernels) {
      auto code = plan.code(*program.modules[kernel->module_index]);
      options.given[kernel->entry].assign(reinterpret_cast<const char *>(code.data()), code.size());
    }
    if (isPatched)
      options.given[patch.entry] = patch.compiled.at(program.arch).code;
    codegen::ByteBuffer buffer;
    Status status = codegen::compileToPlan(*module, weights, options, buffer);
    bytes = buffer.take();
    return status.isOk() ? status : failure("the fusion cannot be compiled by itself");
  }

  Result<std::vector<Array>> interpret(const std::vector<Array> &inputs,
                                       const std::vector<Port> &outputs) {
    auto main = module->lookupSymbol<func::FuncOp>("main");
    std::vector<HostTensor> arguments;
    for (size_t i = 0; i < inputs.size(); ++i) {
      SMELT_ASSIGN_OR_RETURN(HostTensor tensor,
                             toInterpreter(inputs[i],
                                           main.getArgumentTypes()[static_cast<unsigned>(i)],
                                           Precision::f64));
      arguments.push_back(std::move(tensor));
    }
    auto results = Interpreter(*module, weights, {Precision::f64}).run(arguments);
    if (failed(results))
      return failure("the fusion cannot be interpreted");
    std::vector<Array> arrays;
    for (size_t i = 0; i < results->size(); ++i)
      arrays.push_back(toArray((*results)[i], outputs[i].type));
    return arrays;
  }

  /// Which inputs are moments of rows, among which no variance is negative.
  std::vector<bool> moments() {
    auto main = module->lookupSymbol<func::FuncOp>("main");
    auto fusion = *main.getOps<FusionOp>().begin();
    std::vector<bool> areMoments(main.getNumArguments());
    for (auto [index, input] : llvm::enumerate(fusion.getInputs()))
      if (auto argument = dyn_cast<BlockArgument>(input))
        areMoments[argument.getArgNumber()] =
            llvm::any_of(fusion.getBlock().getArgument(index).getUsers(),
                         [](Operation *op) { return isa<MomentsRstdOp, MomentsRrmsOp>(op); });
    return areMoments;
  }

  std::vector<ElementType> arithmetic() { return arithmeticOf(*module); }

private:
  Status failure(const char *what) const {
    return collector.asStatus(StatusCode::kInternal, what).within(patch.entry);
  }

  const runtime::Plan &plan;
  const plan::ProgramT &program;
  const KernelPatch &patch;
  MLIRContext context;
  compiler::DiagnosticCollector collector;
  OwningOpRef<ModuleOp> module;
  WeightStore weights;
};

/// The values of a plan's symbols at which one of its kernels runs.
class SizeSearch {
public:
  SizeSearch(const plan::MetadataT &metadata, const std::string &entry)
      : metadata(metadata), program(*metadata.programs[0]), entry(entry) {}

  /// The smallest of the values tried at which the kernel has work; sizes of 1, which hide what is
  /// done with strides, only where no others will do. None where there are none.
  std::optional<std::vector<int64_t>> run() const {
    std::vector<std::vector<int64_t>> tried = combinations();
    auto rank = [](const std::vector<int64_t> &values) {
      double product = 1;
      for (int64_t value : values)
        product *= static_cast<double>(value);
      return std::pair(std::count(values.begin(), values.end(), 1), product);
    };
    std::sort(tried.begin(), tried.end(), [&](const auto &a, const auto &b) {
      return std::pair(rank(a), a) < std::pair(rank(b), b);
    });
    auto found = std::find_if(tried.begin(), tried.end(),
                              [&](const auto &values) { return runsAt(values); });
    return found == tried.end() ? std::nullopt : std::optional(*found);
  }

  std::optional<std::vector<int64_t>> shapeOf(const plan::TensorT &tensor,
                                              const std::vector<int64_t> &values) const {
    std::vector<int64_t> shape;
    for (uint32_t dim : tensor.dims)
      shape.push_back(valueOf(dim, values));
    bool isShape = std::all_of(shape.begin(), shape.end(), [](int64_t size) { return size >= 0; });
    return isShape ? std::optional(std::move(shape)) : std::nullopt;
  }

private:
  std::vector<std::vector<int64_t>> combinations() const {
    size_t count = metadata.symbols.size(), varying = std::min(count, kMostSizes);
    std::vector<std::vector<int64_t>> all{{}};
    for (size_t i = 0; i < count; ++i) {
      std::vector<std::vector<int64_t>> longer;
      for (const std::vector<int64_t> &values : all)
        for (int64_t size : kSizes)
          if (i < varying || size == values.back()) {
            longer.push_back(values);
            longer.back().push_back(size);
          }
      all = std::move(longer);
    }
    return all;
  }

  /// Negative where the dim has no value.
  int64_t valueOf(uint32_t dim, const std::vector<int64_t> &values) const {
    return runtime::evaluateDim(*metadata.dims[dim], values).value_or(-1);
  }

  bool holds(const plan::VariantT &variant, const std::vector<int64_t> &values) const {
    if (!variant.rule)
      return true;
    int64_t value = valueOf(variant.rule->value, values);
    return variant.rule->first <= value && value <= variant.rule->last;
  }

  bool launches(const plan::VariantT &variant, const std::vector<int64_t> &values) const {
    return std::any_of(variant.launches.begin(), variant.launches.end(), [&](const auto &launch) {
      const plan::KernelNodeT *node = launch->node.AsKernelNode();
      return node && program.kernels[node->kernel]->entry == entry &&
             valueOf(node->grid.x(), values) > 0 && valueOf(node->grid.y(), values) > 0 &&
             valueOf(node->grid.z(), values) > 0;
    });
  }

  bool runsAt(const std::vector<int64_t> &values) const {
    bool haveShapes =
        std::all_of(metadata.inputs.begin(), metadata.inputs.end(),
                    [&](const auto &input) { return shapeOf(*input, values).has_value(); });
    return haveShapes &&
           std::any_of(program.steps.begin(), program.steps.end(), [&](const auto &step) {
             auto chosen =
                 std::find_if(step->variants.begin(), step->variants.end(),
                              [&](const auto &variant) { return holds(*variant, values); });
             return chosen != step->variants.end() && launches(**chosen, values);
           });
  }

  const plan::MetadataT &metadata;
  const plan::ProgramT &program;
  const std::string &entry;
};

} // namespace

static std::string sizesText(const plan::MetadataT &metadata, const std::vector<int64_t> &values) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i)
    text += joinText(i == 0 ? "" : ", ", metadata.symbols[i], " = ", values[i]);
  return text;
}

static Result<std::vector<Array>> drawInputs(const plan::MetadataT &metadata,
                                             const std::vector<bool> &areMoments,
                                             const SizeSearch &search,
                                             const std::vector<int64_t> &values, uint64_t seed) {
  Signature signature = signatureOf(metadata);
  std::vector<Array> inputs;
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    SMELT_ASSIGN_OR_RETURN(
        Array drawn,
        drawInput(signature.inputs[i], *search.shapeOf(*metadata.inputs[i], values), seed));
    for (size_t at = 0; areMoments[i] && at < drawn.elementCount(); ++at)
      drawn.set(at, std::abs(drawn.at(at)));
    inputs.push_back(std::move(drawn));
  }
  return inputs;
}

static KernelVerdict judge(const std::vector<Port> &ports, const std::vector<Array> &before,
                           const std::vector<Array> &outputs, const std::vector<Array> &references,
                           const std::vector<ElementType> &arithmetic, bool tf32) {
  KernelVerdict verdict;
  for (size_t i = 0; i < references.size(); ++i)
    verdict.outputs.push_back(
        {ports[i].name, references[i].shape, compareTensors(outputs[i], references[i]),
         compareTensors(before[i], references[i]),
         defaultTolerance(isFloat(ports[i].type) ? arithmetic[i] : ports[i].type, tf32)});
  return verdict;
}

Result<KernelVerdict> checkKernel(const runtime::Plan &plan, const plan::ProgramT &program,
                                  const KernelPatch &patch, const RunPlan &run) {
  LoneFusion fusion(plan, program, patch);
  SMELT_RETURN_IF_ERROR(fusion.read());
  std::vector<std::byte> bytesBefore, bytesAfter;
  SMELT_RETURN_IF_ERROR(fusion.build(false, bytesBefore));
  SMELT_RETURN_IF_ERROR(fusion.build(true, bytesAfter));
  SMELT_ASSIGN_OR_RETURN(runtime::Plan before, runtime::readPlan(bytesBefore, patch.entry));
  SMELT_ASSIGN_OR_RETURN(runtime::Plan after, runtime::readPlan(bytesAfter, patch.entry));
  SizeSearch search(before.metadata(), patch.entry);
  std::optional<std::vector<int64_t>> sizes = search.run();
  if (!sizes)
    return Status(StatusCode::kUsage,
                  joinText("no sizes were found at which ", patch.entry, " runs"));
  std::vector<Port> ports = signatureOf(before.metadata()).outputs;
  bool tf32 = plan.metadata().compile_options == "tf32";
  KernelVerdict verdict;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SMELT_ASSIGN_OR_RETURN(std::vector<Array> inputs,
                           drawInputs(before.metadata(), fusion.moments(), search, *sizes, seed));
    SMELT_ASSIGN_OR_RETURN(std::vector<Array> references, fusion.interpret(inputs, ports));
    SMELT_ASSIGN_OR_RETURN(std::vector<Array> old, run(before, inputs));
    SMELT_ASSIGN_OR_RETURN(std::vector<Array> outputs, run(after, inputs));
    verdict = judge(ports, old, outputs, references, fusion.arithmetic(), tf32);
    verdict.sizes = sizesText(before.metadata(), *sizes);
    if (verdict.agrees() || verdict.agreedBefore())
      break;
  }
  return verdict;
}

} // namespace smelt::tools
