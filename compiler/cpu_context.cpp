#include "compiler/cpu_context.h"

#include "runtime/text.h"
#include "runtime/turn.h"

#include <algorithm>

namespace smelt::compiler {

using runtime::Binding;
using runtime::Bindings;
using runtime::ContextOptions;
using runtime::Slot;
using runtime::Turn;

Result<std::unique_ptr<CpuContext>> CpuContext::create(std::shared_ptr<CpuModel> model,
                                                       ContextOptions options) {
  SMELT_RETURN_IF_ERROR(options.check());
  return std::unique_ptr<CpuContext>(new CpuContext(std::move(model), std::move(options)));
}

/// All: what nothing reads must be bound too, as on a GPU.
static runtime::UsedPorts portsOf(const plan::MetadataT &metadata) {
  return {std::vector(metadata.inputs.size(), true), std::vector(metadata.outputs.size(), true)};
}

CpuContext::CpuContext(std::shared_ptr<CpuModel> shared, ContextOptions options)
    : model(std::move(shared)), options(std::move(options)),
      bindings(model->metadata(), portsOf(model->metadata())) {}

Status CpuContext::setInputShape(const std::string &name, const runtime::Shape &shape) {
  Turn turn(busy);
  SMELT_RETURN_IF_ERROR(turn.status());
  SMELT_ASSIGN_OR_RETURN(bool isNew, bindings.setShape(name, shape));
  if (isNew)
    forgetSizes();
  return {};
}

void CpuContext::forgetSizes() {
  values.reset();
  isPrepared = false;
}

Status CpuContext::bindInput(const std::string &name, const Binding &binding) {
  return bind(true, name, binding);
}

Status CpuContext::bindOutput(const std::string &name, const Binding &binding) {
  return bind(false, name, binding);
}

Status CpuContext::bind(bool isInput, const std::string &name, const Binding &binding) {
  Turn turn(busy);
  SMELT_RETURN_IF_ERROR(turn.status());
  SMELT_ASSIGN_OR_RETURN(Bindings::Change change, bindings.bind(isInput, name, binding));
  bindings.takeFormerOwners();               // no run uses what was bound before
  if (change == Bindings::Change::kCapacity) // while host memory needs no copy on a device here
    forgetSizes();
  return {};
}

Status CpuContext::solve() {
  if (values)
    return {};
  std::vector<runtime::Shape> shapes;
  std::vector<int64_t> capacities;
  for (const Slot &input : bindings.allInputs()) {
    if (!input.hasShape)
      return Status(StatusCode::kUsage,
                    joinText("input '", input.tensor->name, "' has no shape yet"));
    shapes.push_back(input.shape);
  }
  for (const Slot &output : bindings.allOutputs())
    capacities.push_back(output.binding.capacity);
  SMELT_ASSIGN_OR_RETURN(values, runtime::solveShapes(model->metadata(), shapes, capacities));
  return {};
}

Result<runtime::Shape> CpuContext::outputShape(const std::string &name) {
  Turn turn(busy);
  SMELT_RETURN_IF_ERROR(turn.status());
  SMELT_ASSIGN_OR_RETURN(Slot * output, bindings.output(name));
  SMELT_RETURN_IF_ERROR(solve());
  return runtime::shapeOf(*output->tensor, *values);
}

Result<uint64_t> CpuContext::workspaceBytes() {
  Turn turn(busy);
  SMELT_RETURN_IF_ERROR(turn.status());
  SMELT_RETURN_IF_ERROR(solve());
  return 0;
}

Status CpuContext::setWorkspace(void *data, uint64_t bytes) {
  Turn turn(busy);
  SMELT_RETURN_IF_ERROR(turn.status());
  SMELT_RETURN_IF_ERROR(runtime::checkWorkspace(data));
  auto begin = reinterpret_cast<uint64_t>(data);
  workspace = data == nullptr ? runtime::MemoryRange() : runtime::MemoryRange{begin, begin + bytes};
  isPrepared = false;
  return {};
}

Status CpuContext::prepare() {
  Turn turn(busy);
  SMELT_RETURN_IF_ERROR(turn.status());
  return prepareTurn();
}

Status CpuContext::prepareTurn() {
  SMELT_RETURN_IF_ERROR(solve());
  SMELT_RETURN_IF_ERROR(bindings.layOut(*values));
  SMELT_RETURN_IF_ERROR(bindings.checkOverlaps(workspace));
  isPrepared = true;
  return {};
}

Status CpuContext::checkBindings() {
  if (!isPrepared)
    return Status(StatusCode::kUsage, "the context is not prepared for its shapes and bindings; "
                                      "call prepare before enqueue");
  return bindings.check(*values, workspace);
}

static Status store(const HostTensor &result, const Slot &output) {
  std::vector<char> bytes = result.toBytes();
  if (bytes.size() != output.layout.bytes())
    return Status(StatusCode::kInternal,
                  joinText("output '", output.tensor->name, "' has ", bytes.size(), " bytes, not ",
                           output.layout.bytes()));
  std::copy(bytes.begin(), bytes.end(), static_cast<char *>(output.binding.data));
  return {};
}

Status CpuContext::enqueueTurn(Stream stream) {
  SMELT_RETURN_IF_ERROR(refuseStream(stream));
  SMELT_RETURN_IF_ERROR(checkBindings());
  std::vector<TensorView> views;
  for (const Slot &input : bindings.allInputs())
    views.push_back({input.tensor->element_type,
                     input.shape,
                     {static_cast<const std::byte *>(input.binding.data), input.layout.bytes()}});
  SMELT_ASSIGN_OR_RETURN(std::vector<HostTensor> results, model->run(views));
  for (size_t i = 0; i < results.size(); ++i)
    SMELT_RETURN_IF_ERROR(store(results[i], bindings.allOutputs()[i]));
  return {};
}

Status CpuContext::enqueue(Stream stream) {
  Turn turn(busy);
  SMELT_RETURN_IF_ERROR(turn.status());
  return enqueueTurn(stream);
}

Status CpuContext::run(Stream stream) {
  Turn turn(busy);
  SMELT_RETURN_IF_ERROR(turn.status());
  SMELT_RETURN_IF_ERROR(prepareTurn());
  return enqueueTurn(stream);
}

Status CpuContext::wait() {
  Turn turn(busy);
  return turn.status();
}

} // namespace smelt::compiler
