#include "codegen/fusion_module.h"

#include "ir/capabilities.h"
#include "ir/element_bytes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace smelt::codegen {

namespace {

bool updatesInPlace(FusionOp fusion) {
  return llvm::any_of(fusion.getInputs(),
                      [](Value input) {
                        return isa_and_nonnull<BufferOp, ContentsOp>(input.getDefiningOp());
                      }) ||
         !fusion.getBlock().getOps<AppendOp>().empty();
}

/// The size symbols that the types and attributes of the fusion and of its ops name, in order.
llvm::SetVector<StringAttr> symbolsOf(FusionOp fusion) {
  llvm::SetVector<StringAttr> symbols;
  auto add = [&](Dim dim) {
    dim.forEachSymbol(
        [&](StringRef name) { symbols.insert(StringAttr::get(fusion.getContext(), name)); });
  };
  auto addShapes = [&](ValueRange values) {
    for (Value value : values)
      llvm::for_each(tensorType(value).getShape(), add);
  };
  fusion->walk([&](Operation *op) {
    addShapes(op->getOperands());
    addShapes(op->getResults());
    op->getAttrDictionary().walk([&](DimAttr dim) { add(Dim(dim)); });
  });
  return symbols;
}

class FusionModule {
public:
  explicit FusionModule(FusionOp fusion)
      : fusion(fusion), builder(fusion.getContext()),
        module(ModuleOp::create(builder, builder.getUnknownLoc())) {}

  std::string text() {
    addMain();
    addBody();
    std::string text;
    llvm::raw_string_ostream stream(text);
    module->print(stream, OpPrintingFlags().useLocalScope());
    return text;
  }

private:
  void addMain() {
    SmallVector<Type> arguments;
    SmallVector<std::string> names;
    for (StringAttr symbol : symbolsOf(fusion)) {
      arguments.push_back(
          TensorType::get({Dim::symbol(builder.getContext(), symbol)}, builder.getI8Type()));
      names.push_back("size " + symbol.str());
    }
    for (auto [index, input] : llvm::enumerate(fusion.getInputs()))
      if (!isWeightExpression(input)) {
        arguments.push_back(input.getType());
        names.push_back("input " + std::to_string(index));
      }
    builder.setInsertionPointToEnd(module->getBody());
    main = func::FuncOp::create(builder, builder.getUnknownLoc(), "main",
                                builder.getFunctionType(arguments, fusion.getResultTypes()));
    for (auto [index, name] : llvm::enumerate(names))
      main.setArgAttr(index, "smelt.name", builder.getStringAttr(name));
    for (unsigned index = 0; index < fusion.getNumResults(); ++index)
      main.setResultAttr(index, "smelt.name",
                         builder.getStringAttr("output " + std::to_string(index)));
  }

  void addBody() {
    builder.setInsertionPointToEnd(main.addEntryBlock());
    IRMapping mapping;
    unsigned next = main.getNumArguments() - llvm::count_if(fusion.getInputs(), [](Value input) {
                      return !isWeightExpression(input);
                    });
    for (auto [index, input] : llvm::enumerate(fusion.getInputs()))
      mapping.map(input, isWeightExpression(input) ? absentWeight(input, index)
                                                   : main.getArgument(next++));
    Operation *alone = builder.clone(*fusion, mapping);
    func::ReturnOp::create(builder, builder.getUnknownLoc(), alone->getResults());
  }

  Value absentWeight(Value input, size_t index) {
    TensorType type = tensorType(input);
    uint64_t bytes = *type.getNumElements().asConstant() * elementBytes(type.getElementType());
    auto source = SourceAttr::get(builder.getContext(), "absent", 0, bytes, "");
    return WeightOp::create(builder, builder.getUnknownLoc(), type,
                            "input " + std::to_string(index), source);
  }

  FusionOp fusion;
  OpBuilder builder;
  OwningOpRef<ModuleOp> module;
  func::FuncOp main;
};

} // namespace

std::string fusionModuleText(FusionOp fusion) {
  return updatesInPlace(fusion) ? "" : FusionModule(fusion).text();
}

} // namespace smelt::codegen
