#include "codegen/kernel_text.h"

#include "codegen/cache.h"
#include "codegen/emit_expression.h"
#include "ir/location.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace smelt::codegen {

namespace {

constexpr size_t kMaxLabelOps = 6;
constexpr size_t kEntryHashDigits = 8;

bool computesSomething(Operation &op) {
  return !op.hasTrait<View>() && !isa<ConstantOp, DimsOp, IotaOp, CastOp, YieldOp>(op);
}

/// Calls `visit(declaration, type)` for every pointer parameter.
void forEachPointer(FusionOp fusion,
                    llvm::function_ref<void(StringRef qualifier, Value, std::string name)> visit) {
  for (auto [index, input] : llvm::enumerate(fusion.getInputs()))
    visit("const ", input, inputName(index));
  for (auto [index, output] : llvm::enumerate(fusion.getOutputs()))
    visit("", output, outputName(index));
}

} // namespace

std::string includeTemplate(StringRef name) {
  return ("#include \"kernels/" + name + "/" + name + ".cuh\"\n").str();
}

std::string fusionLabel(FusionOp fusion) {
  std::string label = stringifyFusionKind(fusion.getKind()).str();
  size_t count = 0;
  for (Operation &op : fusion.getBlock()) {
    StringRef name = op.getName().stripDialect();
    bool isNamed = name == "matmul" || name == label;
    if (computesSomething(op) && !isNamed && ++count <= kMaxLabelOps)
      label += "+" + name.str();
  }
  return count > kMaxLabelOps ? label + "+" + std::to_string(count - kMaxLabelOps) + "more" : label;
}

std::string problemMembers(FusionOp fusion, ArrayRef<std::string> sizes) {
  std::string text;
  forEachPointer(fusion, [&](StringRef qualifier, Value value, std::string name) {
    TensorType type = tensorType(value);
    text += qualifier.str() + storageType(type.getElementType()).str() + " *" + name + "; // " +
            toString(type.getShape()) + "\n";
  });
  for (const std::string &size : sizes)
    text += "int " + DimPrinter::sizeName(size) + ";\n";
  return text;
}

std::string entryParameters(FusionOp fusion, ArrayRef<std::string> sizes) {
  SmallVector<std::string> parameters;
  forEachPointer(fusion, [&](StringRef qualifier, Value value, std::string name) {
    StringRef type = storageType(tensorType(value).getElementType());
    bool isBuiltin = type == "float" || type == "double" || type == "int" || type == "bool";
    parameters.push_back((qualifier + (isBuiltin ? "" : "smelt::") + type + " *" + name).str());
  });
  for (const std::string &size : sizes)
    parameters.push_back("int " + DimPrinter::sizeName(size));
  return join(parameters);
}

std::string entryArguments(FusionOp fusion, ArrayRef<std::string> sizes) {
  SmallVector<std::string> arguments;
  forEachPointer(fusion, [&](StringRef, Value, std::string name) { arguments.push_back(name); });
  for (const std::string &size : sizes)
    arguments.push_back(DimPrinter::sizeName(size));
  return join(arguments);
}

static std::string withoutComments(StringRef text) {
  std::string result;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    StringRef code = line.split("//").first.rtrim();
    if (!code.empty())
      result += code.str() + "\n";
    text = rest;
  }
  return result;
}

std::string canonicalText(StringRef text) {
  auto isPart = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  std::string code = withoutComments(text), result;
  llvm::StringMap<std::string> names;
  for (StringRef rest = code; !rest.empty();) {
    StringRef word = rest.take_while(isPart);
    if (word.starts_with(kSizePrefix) && word != "size_t")
      result +=
          names.try_emplace(word, (kSizePrefix + llvm::Twine(names.size())).str()).first->second;
    else
      result += word;
    rest = rest.drop_front(word.size());
    StringRef between = rest.take_until(isPart);
    result += between;
    rest = rest.drop_front(between.size());
  }
  return result;
}

static void replaceAll(std::string &text, StringRef from, const std::string &to) {
  for (size_t at = 0; (at = text.find(from.data(), at, from.size())) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to);
}

Dim elementsRead(FusionOp fusion, unsigned input) {
  BlockArgument argument = fusion.getBlock().getArgument(input);
  Dim all = tensorType(argument).getNumElements(), read = Dim::constant(fusion.getContext(), 0);
  for (OpOperand &use : argument.getUses()) {
    Operation *user = use.getOwner();
    if (isa<AppendOp>(user) && use.getOperandNumber() == 0)
      continue; // stays where it is
    bool readsPart = isa<SliceOp>(user) || (isa<GatherOp, GatherElementsOp, GatherNdOp>(user) &&
                                            use.getOperandNumber() == 0);
    read = read + (readsPart ? tensorType(user->getResult(0)).getNumElements() : all);
  }
  return read.min(all);
}

Dim elementwiseFlops(FusionOp fusion) {
  Dim total = Dim::constant(fusion.getContext(), 0);
  for (Operation &op : fusion.getBlock())
    if (op.hasTrait<Elementwise>() && !isa<CastOp>(op))
      total = total + tensorType(op.getResult(0)).getNumElements();
  return total;
}

static void setArguments(GeneratedKernel &kernel, FusionOp fusion,
                         const std::set<std::string> &sizes) {
  for (unsigned index = 0; index < fusion.getNumOperands(); ++index)
    kernel.arguments.push_back(KernelArgument::inputPointer(index));
  for (unsigned index = 0; index < fusion.getNumResults(); ++index)
    kernel.arguments.push_back(KernelArgument::outputPointer(index));
  for (const std::string &size : sizes)
    kernel.arguments.push_back(KernelArgument::size32(Dim::symbol(fusion.getContext(), size)));
}

static Dim unavoidableBytes(FusionOp fusion) {
  Dim bytes = Dim::constant(fusion.getContext(), 0);
  for (auto [index, value] : llvm::enumerate(fusion.getInputs()))
    bytes = bytes + elementsRead(fusion, index) * elementBytes(tensorType(value).getElementType());
  for (Value value : fusion.getYield()->getOperands()) {
    auto append = value.getDefiningOp<AppendOp>();
    TensorType written = tensorType(append ? append.getRows() : value);
    bytes = bytes + written.getNumElements() * elementBytes(written.getElementType());
  }
  return bytes;
}

void finishKernel(GeneratedKernel &kernel, FusionOp fusion, std::string text, StringRef config,
                  const std::set<std::string> &sizes) {
  std::string label = fusionLabel(fusion);
  std::string hash = KernelCache::key({canonicalText(text)}).substr(0, kEntryHashDigits);
  kernel.text.entry = label + "_" + hash;
  llvm::replace(kernel.text.entry, '+', '_');
  replaceAll(text, kEntryName, kernel.text.entry);
  kernel.text.text = std::move(text);
  kernel.text.description = label + " (" + llvm::join(nodeNames(fusion.getLoc()), ", ") + ")";
  kernel.name = label + (config.empty() ? "" : " " + config.str());
  setArguments(kernel, fusion, sizes);
  kernel.bytes = unavoidableBytes(fusion);
  kernel.flops = elementwiseFlops(fusion);
  auto isDouble = [](Value value) { return tensorType(value).getElementType().isF64(); };
  if (llvm::any_of(fusion.getOutputs(), isDouble))
    kernel.arithmetic = plan::Arithmetic::float64;
}

} // namespace smelt::codegen
