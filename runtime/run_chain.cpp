#include "runtime/run_chain.h"

#include "runtime/stream_timer.h"

namespace smelt::runtime {

Result<std::unique_ptr<RunChain>> RunChain::create(std::span<Context *const> contexts) {
  std::unique_ptr<RunChain> chain(new RunChain(contexts.front()->engine()));
  SMELT_RETURN_IF_ERROR(chain->build(contexts));
  return chain;
}

Status RunChain::build(std::span<Context *const> contexts) {
  const DriverApi &api = engine.api();
  SMELT_ASSIGN_OR_RETURN(CurrentContext current, CurrentContext::enter(*engine.device()));
  SMELT_RETURN_IF_CUDA_ERROR(api, "creating a graph of runs", cuGraphCreate, &graph, 0);
  ModelGraph::LineEnd end;
  for (Context *context : contexts) {
    SMELT_ASSIGN_OR_RETURN(Context::Ready ready, context->ready());
    SMELT_RETURN_IF_ERROR(ready.graph->appendTo(graph, end, ready.addresses));
  }
  runs = contexts.size();
  SMELT_RETURN_IF_CUDA_ERROR(api, "instantiating a graph of runs", cuGraphInstantiateWithFlags,
                             &executable, graph, 0);
  return {};
}

RunChain::~RunChain() {
  if (graph == nullptr)
    return;
  Result<CurrentContext> current = CurrentContext::enter(*engine.device());
  if (executable != nullptr)
    engine.api().cuGraphExecDestroy(executable);
  engine.api().cuGraphDestroy(graph);
}

Result<double> RunChain::time(CUstream stream) const {
  const DriverApi &api = engine.api();
  SMELT_ASSIGN_OR_RETURN(CurrentContext current, CurrentContext::enter(*engine.device()));
  SMELT_ASSIGN_OR_RETURN(std::vector<Event> events, createEvents(api, 2));
  Gate gate(api, stream);
  SMELT_RETURN_IF_ERROR(gate.queue());
  SMELT_RETURN_IF_ERROR(events[0].record(stream));
  SMELT_RETURN_IF_CUDA_ERROR(api, "timing runs", cuGraphLaunch, executable, stream);
  SMELT_RETURN_IF_ERROR(events[1].record(stream));
  gate.open();
  SMELT_RETURN_IF_ERROR(events[1].wait());
  SMELT_ASSIGN_OR_RETURN(double milliseconds, events[0].millisecondsUntil(events[1]));
  return milliseconds * 1e3 / static_cast<double>(runs);
}

} // namespace smelt::runtime
