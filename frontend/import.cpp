// The order of an import: read, flatten and sort the graph, refuse what is unsupported, declare the
// inputs, import node by node, drop what nothing reads (resolved shape arithmetic), verify.
#include "frontend/import.h"

#include "frontend/declared_types.h"
#include "frontend/fixed_inputs.h"
#include "frontend/graph.h"
#include "frontend/graph_inputs.h"
#include "frontend/model_file.h"
#include "frontend/node_importer.h"
#include "frontend/node_table.h"
#include "ir/decisions.h"

#include "mlir/IR/Verifier.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace smelt {

using namespace frontend;

namespace {

/// One error for each unsupported op, naming its nodes.
LogicalResult checkSupported(Location location, const Graph &graph) {
  std::map<std::string, std::vector<const Node *>> unsupported;
  for (const Node &node : graph.nodes) {
    if (findRule(node.domain, node.proto->op_type(), node.opset))
      continue;
    std::string op = (node.domain.empty() ? "" : node.domain + ".") + node.proto->op_type();
    unsupported[op].push_back(&node);
  }
  for (const auto &[op, nodes] : unsupported) {
    InFlightDiagnostic error = emitError(location) << "op " << op << " (opset " << nodes[0]->opset
                                                   << ") is not supported: ";
    constexpr size_t kShown = 3;
    for (size_t index = 0; index < std::min(nodes.size(), kShown); ++index)
      error << (index ? ", '" : "needed by '") << nodes[index]->name << "'";
    if (nodes.size() > kShown)
      error << " and " << nodes.size() - kShown << " more nodes";
  }
  return success(unsupported.empty());
}

class Importer {
public:
  Importer(Location location, StringRef directory, const ImportOptions &options,
           const Assumptions &assumed)
      : location(location), options(options), assumed(assumed),
        weights(std::make_unique<WeightStore>(directory.str())),
        tensors(directory.str(), *weights, options.drawMissingWeights, options.refit,
                options.onRead) {
    if (options.drawMissingWeights)
      weights->drawMissing(options.seed);
  }

  FailureOr<ImportedModel> run(onnx_wire::Model &model) {
    FailureOr<Graph> graph = buildGraph(location, model);
    if (failed(graph) || failed(checkOpsets(location, *graph)) ||
        failed(checkSupported(location, *graph)))
      return failure();
    FailureOr<std::vector<GraphInput>> inputs =
        readInputs(location, *graph->proto, options.inputShapes, options.undeclaredShapes,
                   options.replacesDeclared);
    if (failed(inputs))
      return failure();
    declared.emplace(*graph->proto, options.inputShapes.empty());
    OwningOpRef<ModuleOp> module = ModuleOp::create(location);
    func::FuncOp function = declareMain(*module, *inputs);
    std::vector<ModelInitializer> stored = describeInitializers(*graph->proto);
    tensors.expectBytes(bytesOf(stored));
    if (failed(importGraph(model, *graph, function, *inputs)) || failed(verify(*module)))
      return failure();
    if (options.refit)
      (*module)->setAttr(kRefit, UnitAttr::get(module->getContext()));
    findTwins(*module, stored);
    for (ModelInitializer &initializer : stored)
      initializer.decides = weights->wasRead(initializer.name);
    return ImportedModel{std::move(module),
                         std::move(weights),
                         std::move(stored),
                         constantInputs(*graph->proto),
                         std::move(equated),
                         {},
                         false};
  }

  /// Inputs whose values the graph's structure depends on.
  ArrayRef<std::string> neededInputs() const { return needed; }
  /// Nodes that branch on sizes and must be compiled for one outcome.
  const Assumptions &neededAssumptions() const { return toAssume; }

private:
  func::FuncOp declareMain(ModuleOp module, ArrayRef<GraphInput> inputs) {
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    SmallVector<Type> types =
        llvm::map_to_vector(inputs, [](const GraphInput &input) -> Type { return input.type; });
    auto function =
        func::FuncOp::create(builder, location, "main", builder.getFunctionType(types, {}));
    function.addEntryBlock();
    function.setAllArgAttrs(llvm::map_to_vector(
        inputs, [&](const GraphInput &input) { return nameAttribute(builder, input.name); }));
    return function;
  }

  /// Set for all inputs or outputs at once: the attributes of all are one attribute of the function,
  /// and every version of that lives as long as the context.
  static DictionaryAttr nameAttribute(Builder &builder, StringRef name) {
    return builder.getDictionaryAttr(
        builder.getNamedAttr("smelt.name", builder.getStringAttr(name)));
  }

  LogicalResult importGraph(onnx_wire::Model &model, const Graph &graph, func::FuncOp function,
                            ArrayRef<GraphInput> inputs) {
    ShapeFacts facts(function, &assumed);
    for (const GraphInput &input : inputs)
      for (Dim dim : input.type.getShape())
        dim.forEachSymbol([&](StringRef symbol) { facts.declare(symbol); });
    GraphBuilder build(function, facts);
    for (onnx_wire::Tensor &tensor : *graph.proto->mutable_initializer())
      initializers[tensor.name()] = &tensor;
    ImportState state(model, build, tensors, *declared);
    state.seed = options.seed;
    state.isStructureOnly = drawsMissing();
    state.repairTypes = options.repairTypes;
    state.namesShapes = options.inputShapes.empty();
    NodeImporter nodes(state, graph);
    for (auto [input, argument] : llvm::zip_equal(inputs, function.getArguments()))
      nodes.define(input.name, argument);
    (void)nodes.importNodes();
    SmallVector<Value> results = readOutputs(graph, nodes);
    std::vector<std::string> exposed;
    if (options.exposesAll)
      exposed = addComputed(graph, nodes, results);
    for (auto [input, argument] : llvm::zip_equal(inputs, function.getArguments()))
      if (build.neededInputs().contains(argument))
        needed.push_back(input.name);
    toAssume = std::move(facts.neededAssumptions);
    if (state.failures > 0 || llvm::any_of(results, [](Value value) { return !value; }))
      return build.finish({}), failure();
    build.finish(results);
    nameResults(graph, exposed, function, results);
    dropUnused(function);
    addGuards(function->getParentOfType<ModuleOp>(), facts.guards());
    equated = facts.equated();
    return success();
  }

  bool drawsMissing() const {
    return options.drawMissingWeights && llvm::any_of(initializers, [&](const auto &entry) {
             return tensors.isMissing(*entry.second);
           });
  }

  /// Null for what failed; the failures are counted.
  SmallVector<Value> readOutputs(const Graph &graph, NodeImporter &nodes) {
    SmallVector<Value> results;
    for (const onnx_wire::ValueInfo &output : graph.proto->output()) {
      GraphValue result = nodes.lookUp(output.name());
      results.push_back(result.tensor());
      if (result && !result.isTensor()) {
        emitError(location) << "the output '" << output.name() << "' is " << result.kindName()
                            << ", which is not supported: outputs are tensors";
        ++nodes.state().failures;
      }
      bool isOutside = !graph.producers.contains(output.name());
      if (isOutside && results.back())
        nodes.state().failures += failed(checkDeclared(output.name(), results.back()));
    }
    return results;
  }

  /// Adds what nodes compute to `results`, in the order of the graph. Returns its names.
  static std::vector<std::string> addComputed(const Graph &graph, NodeImporter &nodes,
                                              SmallVector<Value> &results) {
    llvm::StringSet<> outputs;
    for (const onnx_wire::ValueInfo &output : graph.proto->output())
      outputs.insert(output.name());
    std::vector<std::string> names;
    for (const Node &node : graph.nodes)
      for (const std::string &name : node.proto->output()) {
        if (name.empty() || outputs.contains(name))
          continue;
        if (GraphValue value = nodes.find(name); value.isTensor()) {
          results.push_back(value.tensor());
          names.push_back(name);
        }
      }
    return names;
  }

  LogicalResult checkDeclared(StringRef name, Value value) {
    return declared->check(location, "the output", name, tensorType(value));
  }

  void nameResults(const Graph &graph, ArrayRef<std::string> exposed, func::FuncOp function,
                   ArrayRef<Value> results) {
    Builder builder(function.getContext());
    function.setFunctionType(builder.getFunctionType(function.getBody().getArgumentTypes(),
                                                     ValueRange(results).getTypes()));
    SmallVector<DictionaryAttr> attributes;
    for (const onnx_wire::ValueInfo &output : graph.proto->output())
      attributes.push_back(nameAttribute(builder, output.name()));
    for (const std::string &name : exposed)
      attributes.push_back(nameAttribute(builder, name));
    function.setAllResultAttrs(attributes);
  }

  /// Before they are read, which takes their bytes away.
  std::vector<ModelInitializer> describeInitializers(const onnx_wire::Graph &graph) const {
    ScopedDiagnosticHandler silence(location.getContext(), [](Diagnostic &) { return success(); });
    std::vector<ModelInitializer> stored;
    for (const onnx_wire::Tensor &tensor : graph.initializer())
      if (FailureOr<TensorType> type = tensorTypeOf(location, tensor); succeeded(type))
        stored.push_back({tensor.name(), *type});
    return stored;
  }

  static uint64_t bytesOf(ArrayRef<ModelInitializer> stored) {
    uint64_t bytes = 0;
    for (const ModelInitializer &initializer : stored)
      bytes += static_cast<uint64_t>(*initializer.type.getNumElements().asConstant()) *
               elementBytes(initializer.type.getElementType());
    return bytes;
  }

  /// Tells each initializer of another weight that has the same bytes, whatever the compiler does.
  static void findTwins(ModuleOp module, std::vector<ModelInitializer> &stored) {
    llvm::StringMap<WeightOp> weights;
    llvm::DenseMap<std::pair<Attribute, Type>, SmallVector<StringRef>> names;
    auto alike = [&](WeightOp weight) -> SmallVector<StringRef> & {
      return names[{contentKey(weight.getSource()), weight.getOutput().getType()}];
    };
    module.walk([&](WeightOp weight) {
      weights[weight.getName()] = weight;
      alike(weight).push_back(weight.getName());
    });
    for (ModelInitializer &initializer : stored)
      if (WeightOp weight = weights.lookup(initializer.name))
        for (StringRef name : alike(weight))
          if (name != initializer.name)
            initializer.twin = name.str();
  }

  std::vector<std::string> constantInputs(const onnx_wire::Graph &graph) const {
    std::vector<std::string> names;
    for (const onnx_wire::ValueInfo &input : graph.input())
      if (initializers.contains(input.name()))
        names.push_back(input.name());
    return names;
  }

  static void dropUnused(func::FuncOp function) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
      if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>())
        op.erase();
  }

  Location location;
  const ImportOptions &options;
  const Assumptions &assumed;
  std::unique_ptr<WeightStore> weights;
  TensorReader tensors;
  std::optional<DeclaredTypes> declared;
  llvm::StringMap<onnx_wire::Tensor *> initializers;
  std::vector<EquatedSymbol> equated;
  std::vector<std::string> needed;
  Assumptions toAssume;
};

using ParseModel = llvm::function_ref<FailureOr<std::unique_ptr<onnx_wire::Model>>()>;

/// Adds `needed` to `assumed`. Whether there was any, and the import may be tried again.
bool assumeMore(const Assumptions &needed, Assumptions &assumed) {
  constexpr size_t kMostAssumptions = 100;
  bool grows = false;
  for (const auto &node : needed)
    grows |= assumed.insert(node.getKey()).second;
  return grows && assumed.size() <= kMostAssumptions;
}

/// Imports, and imports again for as long as more inputs turn out to be needed as constants, or more
/// nodes that branch on sizes to be compiled for one outcome.
FailureOr<ImportedModel> importParsed(Location location, ParseModel parse, StringRef directory,
                                      const ImportOptions &options) {
  FixedInputs fixed(options);
  Assumptions assumed;
  while (true) {
    FailureOr<std::unique_ptr<onnx_wire::Model>> model = parse();
    if (failed(model))
      return failure();
    fixed.addTo(*(*model)->mutable_graph());
    HeldDiagnostics held(*location.getContext());
    ImportOptions remaining = fixed.remainingOptions();
    Importer importer(location, directory, remaining, assumed);
    FailureOr<ImportedModel> result = importer.run(**model);
    if (failed(result) && ((options.valueOf && fixed.fix(importer.neededInputs())) ||
                           assumeMore(importer.neededAssumptions(), assumed)))
      continue;
    held.release();
    if (succeeded(result)) {
      result->fixedInputs = fixed.list();
      result->assumesSizes = !assumed.empty();
    }
    return result;
  }
}

void loadDialects(MLIRContext &context) { context.loadDialect<SmeltDialect, func::FuncDialect>(); }

} // namespace

FailureOr<ImportedModel> importModel(MLIRContext &context, StringRef path,
                                     const ImportOptions &options) {
  loadDialects(context);
  Location location = NameLoc::get(StringAttr::get(&context, path));
  StringRef directory = llvm::sys::path::parent_path(path);
  return importParsed(
      location, [&] { return readModelFile(location, path); }, directory.empty() ? "." : directory,
      options);
}

FailureOr<ImportedModel> importModel(MLIRContext &context, ArrayRef<char> bytes,
                                     StringRef directory, const ImportOptions &options) {
  loadDialects(context);
  Location location = NameLoc::get(StringAttr::get(&context, "model"));
  return importParsed(location, [&] { return parseModel(location, bytes); }, directory, options);
}

} // namespace smelt
