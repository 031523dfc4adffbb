// What `smelt` says of a crash, which is always a defect of its own.
#pragma once

#include <string>

namespace smelt::tools {

/// Made before there is a crash: whatever crashed may hold the lock of the allocator, so that to allocate then may wait for ever.
class CrashReport {
public:
  /// `version` is Smelt's, `asksForJson` whether stdout is to have the error too.
  CrashReport(const std::string &version, int argc, char **argv, bool asksForJson);

  /// With one more line.
  CrashReport with(const std::string &line) const;

  /// Takes unfinished files away, says so on stderr, and ends the process with kInternal: no destructor runs, since threads that are
  /// still at work need what it would destroy. May be called by a signal's handler.
  [[noreturn]] void end() const;

private:
  CrashReport(std::string message, bool asksForJson);

  std::string message;
  bool asksForJson;
  std::string forPeople;
  std::string json;
};

} // namespace smelt::tools
