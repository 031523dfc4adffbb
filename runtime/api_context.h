// A context of smelt.h over the class whose calls it takes in C's types: runtime::Context, or that of
// the compiler's library, on the CPU.
#pragma once

#include "runtime/caller_options.h"
#include "runtime/dlpack_binding.h"
#include "runtime/engine_interface.h"
#include "runtime/shape_program.h"

#include <memory>

namespace smelt::api {

/// `Runs` has the calls of runtime::Context, its logger() and the Stream that it takes.
template <typename Runs> class ApiContext : public smelt_context {
public:
  using LaunchReceiver = void (*)(void *user, const smelt_launch_time *launch);

  explicit ApiContext(std::unique_ptr<Runs> runs) : runs(std::move(runs)) {}

  smelt_code setInputShape(const char *name, const smelt_int64 *extents, size_t rank,
                           smelt_error *error) noexcept override {
    return attempt(error, [&]() -> Status {
      SMELT_RETURN_IF_ERROR(required(name, "name"));
      if (rank > 0)
        SMELT_RETURN_IF_ERROR(required(extents, "extents"));
      return runs->setInputShape(name, runtime::Shape(extents, extents + rank));
    });
  }

  smelt_code outputShape(const char *name, smelt_int64 *extents, size_t capacity, size_t *rank,
                         smelt_error *error) noexcept override {
    return attempt(error, [&]() -> Status {
      SMELT_RETURN_IF_ERROR(required(name, "name", rank, "rank"));
      SMELT_ASSIGN_OR_RETURN(runtime::Shape shape, runs->outputShape(name));
      *rank = shape.size();
      if (shape.size() > capacity)
        return Status(StatusCode::kUsage, joinText("output '", name, "' has ", shape.size(),
                                                   " dimensions, there is room for ", capacity));
      if (!shape.empty())
        SMELT_RETURN_IF_ERROR(required(extents, "extents"));
      std::copy(shape.begin(), shape.end(), extents);
      return {};
    });
  }

  smelt_code bindInput(const char *name, const smelt_binding *given,
                       smelt_error *error) noexcept override {
    return attempt(error, [&]() -> Status {
      SMELT_RETURN_IF_ERROR(required(name, "name", given, "binding"));
      SMELT_ASSIGN_OR_RETURN(runtime::Binding binding, readBinding(given));
      return runs->bindInput(name, binding);
    });
  }

  smelt_code bindOutput(const char *name, const smelt_binding *given,
                        smelt_error *error) noexcept override {
    return attempt(error, [&]() -> Status {
      SMELT_RETURN_IF_ERROR(required(name, "name", given, "binding"));
      SMELT_ASSIGN_OR_RETURN(runtime::Binding binding, readBinding(given));
      return runs->bindOutput(name, binding);
    });
  }

  smelt_code workspaceBytes(size_t *bytes, smelt_error *error) noexcept override {
    return attempt(error, [&]() -> Status {
      SMELT_RETURN_IF_ERROR(required(bytes, "bytes"));
      SMELT_ASSIGN_OR_RETURN(*bytes, runs->workspaceBytes());
      return {};
    });
  }

  smelt_code setWorkspace(void *memory, size_t bytes, smelt_error *error) noexcept override {
    return attempt(error, [&] { return runs->setWorkspace(memory, bytes); });
  }

  smelt_code prepare(smelt_error *error) noexcept override {
    return attempt(error, [&] { return runs->prepare(); });
  }

  smelt_code enqueue(void *stream, smelt_error *error) noexcept override {
    return attempt(error,
                   [&] { return runs->enqueue(static_cast<typename Runs::Stream>(stream)); });
  }

  smelt_code run(void *stream, smelt_error *error) noexcept override {
    return attempt(error, [&] { return runs->run(static_cast<typename Runs::Stream>(stream)); });
  }

  smelt_code wait(smelt_error *error) noexcept override {
    return attempt(error, [&] { return runs->wait(); });
  }

  smelt_code profile(size_t repetitions, LaunchReceiver onLaunch, void *user,
                     smelt_error *error) noexcept override {
    return attempt(error, [&]() -> Status {
      SMELT_RETURN_IF_ERROR(required(onLaunch != nullptr, "on_launch"));
      return timeLaunches(*runs, repetitions, onLaunch, user);
    });
  }

  smelt_code bindDlpack(bool isInput, const char *name, DLManagedTensorVersioned *tensor,
                        smelt_error *error) noexcept override {
    return attempt(error, [&]() -> Status {
      dlpack::SharedTensor kept = dlpack::takeOver(tensor);
      SMELT_RETURN_IF_ERROR(required(tensor, "tensor", name, "name"));
      SMELT_ASSIGN_OR_RETURN(
          dlpack::BoundTensor bound,
          dlpack::read(runs->metadata(), device(*runs), isInput, name, std::move(kept)));
      if (!isInput)
        return runs->bindOutput(name, bound.binding);
      SMELT_RETURN_IF_ERROR(runs->bindInput(name, bound.binding));
      return runs->setInputShape(name, bound.shape);
    });
  }

  smelt_code allocateOutputDlpack(const char *name, DLManagedTensorVersioned **tensor,
                                  smelt_error *error) noexcept override {
    return attempt(error, [&]() -> Status {
      SMELT_RETURN_IF_ERROR(required(name, "name", tensor, "tensor"));
      SMELT_ASSIGN_OR_RETURN(runtime::Shape shape, runs->outputShape(name));
      const plan::MetadataT &metadata = runs->metadata();
      SMELT_ASSIGN_OR_RETURN(uint64_t bytes, dlpack::outputBytes(metadata, name, shape));
      SMELT_ASSIGN_OR_RETURN(dlpack::Room room, allocate(*runs, std::max<uint64_t>(bytes, 1)));
      SMELT_RETURN_IF_ERROR(runs->bindOutput(name, dlpack::bindingOf(metadata, name, shape, room)));
      *tensor = dlpack::giveOut(metadata, device(*runs), name, shape, room);
      return {};
    });
  }

private:
  virtual Status timeLaunches(Runs &runs, size_t repetitions, LaunchReceiver onLaunch,
                              void *user) = 0;
  /// Where it runs, in DLPack's words.
  virtual DLDevice device(const Runs &runs) const = 0;
  virtual Result<dlpack::Room> allocate(Runs &runs, uint64_t bytes) const = 0;

  /// The context's logger hears of a failure.
  template <typename Body> smelt_code attempt(smelt_error *error, Body body) noexcept {
    return guarded(error, [&] { return loggedAs(runs->logger(), body()); });
  }

  std::unique_ptr<Runs> runs;
};

} // namespace smelt::api
