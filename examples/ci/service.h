// A part of an application: answers requests with a model, and starts anew where the device failed.
#pragma once

#include <smelt.hpp>

#include <map>
#include <memory>

/// The outputs of a run, by name, as bytes.
using Answer = std::map<std::string, std::vector<unsigned char>>;

class Service {
public:
  /// Dimensions that the plan leaves open get `extent`. Throws smelt::Error where the plan cannot be
  /// loaded.
  Service(std::string plan, smelt_int64 extent);

  /// Runs the model on inputs of zeros. A run that fails is tried once more with a new engine; throws
  /// smelt::Error where that fails too.
  Answer answer();

  /// How often an engine had to be made anew.
  int restarts() const { return restarted; }

private:
  /// An engine with memory for one run.
  struct Session {
    Session(const std::string &plan, smelt_int64 extent);

    smelt::Engine engine;
    smelt::Context context;
    std::map<std::string, std::vector<unsigned char>> inputs;
    Answer outputs;
  };

  std::string plan;
  smelt_int64 extent;
  std::unique_ptr<Session> session;
  int restarted = 0;
};
