// How the runtime reports failure: a Status, or a Result that is a value or a Status.
#pragma once

#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>

namespace smelt {

/// The exit classes of the command line, and the return values of the C API.
enum class StatusCode : int {
  kOk = 0,
  kRunFailed = 1, ///< the device or the driver refused or broke a run
  kUsage = 2,     ///< the caller asked for something that makes no sense: unknown name, wrong shape
  kInvalidModel = 3, ///< the model is unsupported or wrong
  kAccuracy = 4,     ///< results disagree, or are not finite
  kResources = 5,    ///< out of memory, disk or time
  kEnvironment = 6,  ///< no driver, an unfit driver, no code for this device
  kPlan = 7,         ///< a plan or cache entry is damaged or of another version
  kInternal = 70,    ///< a defect of Smelt itself
};

/// Success, or a code with a message for a person and the place in Smelt that raised it.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(StatusCode code, std::string message,
         std::source_location where = std::source_location::current())
      : failure(std::make_shared<const Failure>(Failure{code, std::move(message), where})) {}

  bool isOk() const { return failure == nullptr; }
  StatusCode code() const { return failure ? failure->code : StatusCode::kOk; }
  const std::string &message() const {
    static const std::string kNone;
    return failure ? failure->message : kNone;
  }
  const char *file() const { return failure ? failure->where.file_name() : ""; }
  int line() const { return failure ? static_cast<int>(failure->where.line()) : 0; }

  /// The same failure, told from further out: "context: message".
  Status within(const std::string &context) const {
    return isOk() ? *this : Status(code(), context + ": " + message(), failure->where);
  }

private:
  struct Failure {
    StatusCode code;
    std::string message;
    std::source_location where;
  };
  std::shared_ptr<const Failure> failure;
};

/// A T, or the Status that says why there is none.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : held(std::move(value)) {}          // NOLINT(google-explicit-constructor)
  Result(Status status) : failed(std::move(status)) {} // NOLINT(google-explicit-constructor)

  bool isOk() const { return held.has_value(); }
  const Status &status() const { return failed; }
  T &operator*() { return *held; }
  const T &operator*() const { return *held; }
  T *operator->() { return &*held; }
  const T *operator->() const { return &*held; }

private:
  std::optional<T> held;
  Status failed;
};

} // namespace smelt

/// Leaves the current function with the status of `expression` unless it is ok.
#define SMELT_RETURN_IF_ERROR(expression)                                                          \
  do {                                                                                             \
    if (::smelt::Status smeltStatus = (expression); !smeltStatus.isOk())                           \
      return smeltStatus;                                                                          \
  } while (false)

#define SMELT_CONCAT_INNER(a, b) a##b
#define SMELT_CONCAT(a, b) SMELT_CONCAT_INNER(a, b)

/// SMELT_ASSIGN_OR_RETURN(Plan plan, readPlan(path)): declares or assigns the left side from a
/// Result, or leaves the current function with its status.
#define SMELT_ASSIGN_OR_RETURN(left, expression)                                                   \
  SMELT_ASSIGN_OR_RETURN_AS(SMELT_CONCAT(smeltResult, __LINE__), left, expression)
#define SMELT_ASSIGN_OR_RETURN_AS(result, left, expression)                                        \
  auto result = (expression);                                                                      \
  if (!result.isOk())                                                                              \
    return result.status();                                                                        \
  left = std::move(*result)
