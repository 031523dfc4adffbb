// The subcommands of `smelt`, one file each. Every function here adds one to the parser; when it
// was asked for, parsing runs it and leaves its outcome in `status`, whose code is the exit code.
#pragma once

#include "runtime/status.h"
#include "tools/smelt/inputs.h"
#include "tools/smelt/open.h"

#include <CLI/CLI.hpp>

namespace smelt::tools {

void addRun(CLI::App &app, Status &status);
void addCompile(CLI::App &app, Status &status);
void addBench(CLI::App &app, Status &status);
void addCheck(CLI::App &app, Status &status);
void addExplain(CLI::App &app, Status &status);
void addInspect(CLI::App &app, Status &status);
void addCompare(CLI::App &app, Status &status);

/// Takes the named values of an enum; refuses others in words.
CLI::Validator oneOf(const std::map<std::string, int> &values);

// Flags that several commands share.
void addJson(CLI::App &command, bool &json);
void addRandomWeights(CLI::App &command, std::optional<uint64_t> &seed);
void addTf32(CLI::App &command, bool &tf32);
/// The model, "The .onnx file" or whatever else `takes` says, and the device that it runs on.
void addModel(CLI::App &command, const char *takes, OpenFlags &flags);
void addInputs(CLI::App &command, InputFlags &flags);

} // namespace smelt::tools
