// What every function of the C APIs does: no exception leaves it, its failure is described to the
// caller, and option structs of any version are understood.
#pragma once

#include "runtime/smelt.h"
#include "runtime/status.h"
#include "runtime/text.h"
#include "runtime/version.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>

namespace smelt::api {

/// Copies as much of the text as there is room for; nothing without room for an end.
inline void copyText(char *target, size_t capacity, const char *text) {
  if (capacity == 0)
    return;
  size_t length = std::min(std::strlen(text), capacity - 1);
  std::memcpy(target, text, length);
  target[length] = '\0';
}

/// Describes a failure to the caller, who may not want to know, in a struct of whatever version.
/// Allocates nothing.
inline smelt_code fill(smelt_error *error, StatusCode code, const char *message, const char *file,
                       int line) {
  if (code == StatusCode::kOk || error == nullptr)
    return static_cast<smelt_code>(code);
  size_t size = error->struct_size;
  if (size >= offsetof(smelt_error, file))
    error->line = line;
  auto room = [size](size_t offset, size_t bytes) {
    return size <= offset ? 0 : std::min(size - offset, bytes);
  };
  copyText(error->file, room(offsetof(smelt_error, file), sizeof(error->file)), file);
  copyText(error->message, room(offsetof(smelt_error, message), sizeof(error->message)), message);
  return static_cast<smelt_code>(code);
}

/// Runs the body of an API function; no exception leaves it, whoever threw it.
template <typename Body> smelt_code guarded(smelt_error *error, Body body) {
  try {
    Status status = body();
    return fill(error, status.code(), status.message().c_str(), status.file(), status.line());
  } catch (const std::bad_alloc &) {
    return fill(error, StatusCode::kResources, "out of host memory", __FILE__, __LINE__);
  } catch (const std::exception &failure) {
    return fill(error, StatusCode::kInternal, failure.what(), __FILE__, __LINE__);
  } catch (...) {
    return fill(error, StatusCode::kInternal, "a callback threw something", __FILE__, __LINE__);
  }
}

inline Status required(bool isGiven, const char *name) {
  return isGiven ? Status() : Status(StatusCode::kUsage, joinText(name, " is NULL"));
}

/// Fails when one of the pointers, each followed by its name, is null.
template <typename T, typename... Rest>
Status required(T *argument, const char *name, const Rest &...rest) {
  SMELT_RETURN_IF_ERROR(required(argument != nullptr, name));
  if constexpr (sizeof...(rest) > 0)
    return required(rest...);
  return {};
}

/// Calls what stands behind a handle, which must be given and is called `name`.
template <typename Handle, typename Call>
smelt_code forwarded(smelt_error *error, const Handle *handle, const char *name, Call call) {
  smelt_code code = guarded(error, [&] { return required(handle, name); });
  return code == SMELT_OK ? call() : code;
}

/// The caller's options, of whatever version of the struct, over the defaults. Callers of a later
/// version may use this library as long as they leave what it does not know at zero.
template <typename Options>
Result<Options> readOptions(const Options *given, const Options &defaults, const char *name) {
  Options options = defaults;
  if (given == nullptr)
    return options;
  size_t size = given->struct_size;
  if (size < sizeof(size_t) || size > 4096)
    return Status(StatusCode::kUsage, joinText(name, ".struct_size is ", size,
                                               "; initialise the struct with its macro"));
  const auto *bytes = reinterpret_cast<const std::byte *>(given);
  auto isSet = [](std::byte value) { return value != std::byte(0); };
  if (size > sizeof(Options) && std::any_of(bytes + sizeof(Options), bytes + size, isSet))
    return Status(StatusCode::kUsage, joinText(name, " sets options that this version of Smelt (",
                                               kVersion, ") does not know"));
  std::memcpy(&options, given, std::min(size, sizeof(Options)));
  return options;
}

} // namespace smelt::api
