// A process of its own for work that may not come back: kernels that nobody has run yet.
#pragma once

#include "runtime/status.h"

#include <memory>
#include <string>
#include <vector>

namespace smelt::tools {

/// This very program with other arguments. What it prints is read line by line; its errors go nowhere. It ends with
/// the object, and should see to it that it ends with this process (endWithParent()).
class WorkerProcess {
public:
  /// Fails with kResources where no process can be started.
  static Result<std::unique_ptr<WorkerProcess>> start(std::vector<std::string> arguments);
  WorkerProcess(const WorkerProcess &) = delete;
  WorkerProcess &operator=(const WorkerProcess &) = delete;
  ~WorkerProcess();

  enum class Heard { kLine, kEnd, kNothing };
  /// Waits for a line that ends within `seconds`.
  Heard hear(std::string &line, double seconds);

  /// Ends it, unless it has ended by itself.
  void kill();
  /// Waits for its end and says how it came: "signal 11 (Segmentation fault)", "exit code 70"; "" for exit code 0.
  std::string end();

private:
  WorkerProcess(int process, int output) : process(process), output(output) {}

  int process;
  int output; ///< its stdout
  bool hasEnded = false;
  std::string how;
  std::string pending; ///< of a line that has not ended
};

/// Has the system kill this process where the one that started it ends.
void endWithParent();

} // namespace smelt::tools
